"""Shared code of the state readers: the parameters of a state, and distinct hashes."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from attrs import define
from skyband.arrays import UInt64
from skyband.config.parameters import build

from skyband_distinct import sightings, sketch_parameters


@define
class Promised:
    """The parameters of a sketch with a guarantee, with the limits that its class sets."""

    epsilon: float = sketch_parameters.epsilon()
    delta: float = sketch_parameters.delta()
    seed: int = sketch_parameters.seed()

    def around(self, count: float) -> tuple[float, float]:
        """The interval of `epsilon` around an estimate."""
        return count / (1 + self.epsilon), count / (1 - self.epsilon)


@define
class PromisedOfHashes(Promised):
    """The parameters of a sketch that can take foreign hashes, and values of the keys."""

    hash: str | None = sketch_parameters.hash_()
    values: str | None = sketch_parameters.values()
    sightings: int | None = sightings.sightings()

    def __attrs_post_init__(self) -> None:
        sketch_parameters.check_seed(self.seed, self.hash)

    @property
    def theta(self) -> bool:
        """Whether the hashes are those of theta sketches."""
        return self.hash == sketch_parameters.THETA


P = TypeVar("P", bound=Promised)
_CACHE: dict[tuple[Any, ...], Any] = {}
_MOST_CACHED = 64


def promised(cls: type[P], parameters: Mapping[str, Any]) -> P:
    """The parameters in a state's header, cached. Raises ConfigError if they are invalid."""
    key = cls, tuple(parameters.items()), tuple(map(type, parameters.values()))
    try:
        instance: P | None = _CACHE.get(key)
    except TypeError:  # unhashable, such as a list, and so not a valid parameter
        return build(cls, parameters)
    if instance is None:
        instance = build(cls, parameters)
        if len(_CACHE) >= _MOST_CACHED:
            _CACHE.clear()
        _CACHE[key] = instance
    return instance


@define
class OfExact:
    """The parameters of the exact sketch."""

    hash: str | None = sketch_parameters.hash_()
    values: str | None = sketch_parameters.values()
    sightings: int | None = sightings.sightings()


def distinct(hashes: UInt64) -> UInt64:
    """The distinct values of uint64[n], ascending. O(n log n)."""
    ordered = np.sort(hashes)
    if len(ordered) < 2:
        return ordered
    first = np.empty(len(ordered), bool)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered if first.all() else ordered[first]
