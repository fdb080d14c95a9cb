"""Numbers that a compact representation may confuse: names and times with equal parts, values one unit apart."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from skyband.arrays import Float64, Int64

LAST = 2**63 - 1
FIRST = -LAST - 1

NAMES: dict[str, Callable[[Int64], Int64]] = {
    "alike in their low 32 bits": lambda number: number << 32,
    "alike in their high bits, above 2^53": lambda number: number + 2**60,
    "alike in their low 48 bits, half of them negative": lambda number: (number - 3) << 48,
    "at both ends of int64": lambda number: np.where(number % 2, LAST - number, FIRST + number),
    "those of numpy's smaller types": lambda number: np.choose(number % 3, [number << 8, -number, number << 16]),
}
"""A name for each small integer >= 0."""


def numbered(names: npt.ArrayLike) -> Int64:
    """Any names as the numbers 0, 1, 2, …, equal if they were equal."""
    _, numbers = np.unique(np.asarray(names), return_inverse=True)
    return numbers.astype(np.int64)


def moved(times: Int64, room: int = 0) -> Iterator[tuple[str, Int64]]:
    """The same times at the first possible moment, `room` before the last one, and where float64 has gaps."""
    span = times - times[0] if len(times) else times
    yield "at the first moments of int64", FIRST + span
    yield "above 2^53", 2**55 + 1 + span
    if len(span):
        yield "at the last moments of int64", LAST - room - int(span[-1]) + span


def stretched(times: Int64) -> Iterator[tuple[str, Int64]]:
    """Times with equal low bits, and at both ends of int64 in one stream."""
    yield "alike in their low 32 bits", (times - times[:1]) << 32
    far = np.sort(np.concatenate([np.full(1, FIRST), times, np.full(1, LAST)]))[: len(times)]
    yield "beginning at the first moment, then near 0", far


def neighbours(seed: int, rows: int, upper: float) -> Float64:
    """Values in [0, upper] one unit in the last place apart, the smallest possible, and both ends."""
    rng = np.random.default_rng([27, seed])
    middle = upper * 0.7
    near = [middle]
    for _ in range(4):
        near.append(float(np.nextafter(near[-1], np.inf)))
    single = [middle * (1 + 2.0**-30), middle * (1 - 2.0**-30)]
    ends = [0.0, 5e-324, float(np.finfo(np.float64).tiny), float(np.nextafter(upper, 0.0)), upper]
    values: Any = rng.choice([*near, *single, *ends], rows)
    return values
