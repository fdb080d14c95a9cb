"""Mutates a state's arrays within their types, endlessly and at random, but reproducibly for one seed.

One change in four has a second one with it. Byte strings are changed like numbers: a nested snapshot is usually found
out by its own checksum.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from skyband.arrays import Array

State = dict[str, Array]
Random = np.random.Generator

_WHOLE = (0, -1, 1, 2, 10**6, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63), 2**64 - 1)
_REAL = (0.0, -0.0, -1.0, 1.0, 2.0, 1e6, 1e308, -1e308, 5e-324, np.nan, np.inf, -np.inf)


def mutations(arrays: Mapping[str, Array], seed: int) -> Iterator[tuple[str, State]]:
    """Mutated states, each with a description of the change."""
    rng = np.random.default_rng(seed)
    names = sorted(arrays)
    while True:
        state = {name: array.copy() for name, array in arrays.items()}
        how = []
        for _ in range(2 if rng.random() < 0.25 else 1):
            name = names[rng.integers(len(names))]
            change = _CHANGES[rng.integers(len(_CHANGES))]
            if len(state[name]) or change is _longer:
                how.append(f"{name}: {change(state, name, rng)}")
        if how and not _same(state, arrays):
            yield ", ".join(how), state


def _same(state: State, arrays: Mapping[str, Array]) -> bool:
    return all(state[name].tobytes() == array.tobytes() for name, array in arrays.items())


def _flip(state: State, name: str, rng: Random) -> str:
    bits = state[name].view(np.uint8)
    place, bit = int(rng.integers(len(bits))), int(rng.integers(8))
    bits[place] ^= np.uint8(1 << bit)
    return f"bit {bit} of byte {place} flipped"


def _swap(state: State, name: str, rng: Random) -> str:
    values = state[name]
    one, other = rng.integers(len(values), size=2).tolist()
    values[[one, other]] = values[[other, one]]
    return f"entries {one} and {other} swapped"


def _repeat(state: State, name: str, rng: Random) -> str:
    values = state[name]
    one, other = rng.integers(len(values), size=2).tolist()
    values[one] = values[other]
    return f"entry {one} as entry {other}"


def _extreme(state: State, name: str, rng: Random) -> str:
    place, extreme = int(rng.integers(len(state[name]))), _an_extreme(state[name], rng)
    state[name][place] = extreme
    return f"entry {place} = {extreme}"


def _everywhere(state: State, name: str, rng: Random) -> str:
    extreme = _an_extreme(state[name], rng)
    state[name][:] = extreme
    return f"all entries = {extreme}"


def _neighbour(state: State, name: str, rng: Random) -> str:
    place, up = int(rng.integers(len(state[name]))), bool(rng.integers(2))
    entry = state[name][place : place + 1]
    if entry.dtype.kind == "f":
        np.nextafter(entry, np.inf if up else -np.inf, out=entry)
    elif up:
        entry += 1
    else:
        entry -= 1
    return f"entry {place} moved {'up' if up else 'down'} by one"


def _shuffle(state: State, name: str, rng: Random) -> str:
    rng.shuffle(state[name])
    return "shuffled"


def _reverse(state: State, name: str, rng: Random) -> str:  # noqa: ARG001 - the same signature for all
    state[name] = state[name][::-1].copy()
    return "reversed"


def _shorter(state: State, name: str, rng: Random) -> str:
    length = int(rng.choice([0, 1, len(state[name]) // 2, len(state[name]) - 1]))
    state[name] = state[name][:length]
    return f"cut to {length} entries"


def _longer(state: State, name: str, rng: Random) -> str:
    values = state[name]
    more = int(rng.choice([1, 8, len(values) + 1]))
    state[name] = np.append(values, np.resize(values, more) if len(values) else np.zeros(more, values.dtype))
    return f"{more} entries longer"


def _all_shorter(state: State, name: str, rng: Random) -> str:  # noqa: ARG001 - the same signature for all
    length = len(state[name])
    for other, values in state.items():
        if len(values) == length:
            state[other] = values[: length - 1]
    return f"the last entry removed from all arrays of {length} entries"


def _an_extreme(values: Array, rng: Random) -> Any:
    """An extreme value of the array's type."""
    if values.dtype.kind == "f":
        return values.dtype.type(rng.choice(_REAL))
    limits = np.iinfo(values.dtype)
    fitting = [value for value in _WHOLE if limits.min <= value <= limits.max] + [limits.min, limits.max]
    return values.dtype.type(fitting[rng.integers(len(fitting))])


_CHANGES: tuple[Callable[[State, str, Random], str], ...] = (
    _flip,
    _swap,
    _repeat,
    _extreme,
    _extreme,
    _everywhere,
    _neighbour,
    _shuffle,
    _reverse,
    _shorter,
    _longer,
    _all_shorter,
)
