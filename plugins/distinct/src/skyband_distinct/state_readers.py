"""What the readers of this distribution's states share: the parameters, and how the arrays of a state are cut."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import define
from skyband.arrays import UInt64
from skyband.config.parameters import build
from skyband.errors import ConfigError, Problem

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


_KNOWN: dict[tuple[Any, ...], Promised] = {}
_MOST_KNOWN = 64


def promised(parameters: Mapping[str, Any]) -> Promised:
    """The parameters in a state's header. Raises ConfigError where they are no ones; the same ones are looked up."""
    key = tuple(parameters.items()), tuple(map(type, parameters.values()))
    try:
        found = _KNOWN.get(key)
    except TypeError:  # a list is no parameter of theirs
        return build(Promised, parameters)
    if found is None:
        found = build(Promised, parameters)
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = found
    return found


def no_parameters(parameters: Mapping[str, Any]) -> None:
    """Raises ConfigError where there are any."""
    if parameters:
        raise ConfigError(*(Problem(name, "unknown; it has no parameters") for name in parameters))


def distinct(hashes: UInt64) -> UInt64:
    """The values of uint64[n], each once, ascending. O(n log n)."""
    ordered = np.sort(hashes)
    if len(ordered) < 2:
        return ordered
    first = np.empty(len(ordered), bool)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered if first.all() else ordered[first]
