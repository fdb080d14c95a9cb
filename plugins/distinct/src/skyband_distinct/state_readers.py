"""What the readers of this distribution's states share: the parameters, and how the arrays of a state are cut."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from attrs import define
from skyband.arrays import UInt64
from skyband.config.parameters import build

from skyband_distinct import sketch_parameters


@define
class Promised:
    """The parameters of a sketch with a guarantee, within the bounds that its class sets."""

    epsilon: float = sketch_parameters.epsilon()
    delta: float = sketch_parameters.delta()
    seed: int = sketch_parameters.seed()

    def around(self, count: float) -> tuple[float, float]:
        """The interval of `epsilon` around an estimate."""
        return count / (1 + self.epsilon), count / (1 - self.epsilon)


@define
class PromisedOfHashes(Promised):
    """The same of a sketch that may take hashes of others' making, and values of the keys."""

    hash: str | None = sketch_parameters.hash_()
    values: str | None = sketch_parameters.values()

    def __attrs_post_init__(self) -> None:
        sketch_parameters.check_seed(self.seed, self.hash)

    @property
    def theta(self) -> bool:
        """Whether the hashes are those of theta sketches."""
        return self.hash == sketch_parameters.THETA


P = TypeVar("P", bound=Promised)
_KNOWN: dict[tuple[Any, ...], Any] = {}
_MOST_KNOWN = 64


def promised(cls: type[P], parameters: Mapping[str, Any]) -> P:
    """The parameters in a state's header. Raises ConfigError where they are no ones; the same ones are looked up."""
    key = cls, tuple(parameters.items()), tuple(map(type, parameters.values()))
    try:
        instance: P | None = _KNOWN.get(key)
    except TypeError:  # a list is no parameter of theirs
        return build(cls, parameters)
    if instance is None:
        instance = build(cls, parameters)
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = instance
    return instance


@define
class OfExact:
    """The parameters of a sketch that is exact."""

    hash: str | None = sketch_parameters.hash_()
    values: str | None = sketch_parameters.values()


def distinct(hashes: UInt64) -> UInt64:
    """The values of uint64[n], each once, ascending. O(n log n)."""
    ordered = np.sort(hashes)
    if len(ordered) < 2:
        return ordered
    first = np.empty(len(ordered), bool)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered if first.all() else ordered[first]
