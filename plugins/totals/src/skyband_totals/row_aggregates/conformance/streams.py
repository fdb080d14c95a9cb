"""Streams for row-aggregates: times, values of one type, and which of them are there."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen
from skyband.arrays import Array, Int64
from skyband_specs.stream import Stream

from skyband_totals.row_aggregates.storages import CONDITION, HASH, NUMBER, ROWS, VALUE

KINDS = {NUMBER: "fi", VALUE: "fit", HASH: "tf", CONDITION: "b", ROWS: "-"}
"""What aggregates are tried on, by what they keep: floats, integers, text, truth values, no values."""
_TYPES: dict[str, Any] = {"f": np.float64, "i": np.int64, "t": object, "b": bool, "-": np.int8}
TINY_ROWS = 4
ROWS_OF_SEED = 36
_WORDS = np.array(["", "a", "ab", "abc", "ä", "z", "zz", "\U0001f600", "ab\u0000"], object)


@frozen(eq=False)
class ValueStream(Stream):
    """Rows at ascending times, with a value each where `there` is true."""

    times: Int64
    values: Array
    """float64, int64, bool or objects; int8 for aggregates without values."""
    there: Array

    def column(self, start: int, stop: int) -> pa.Array | None:
        """The values of rows start..stop as an Arrow array, with nulls; None for aggregates without values."""
        if self.values.dtype == np.int8:
            return None
        kind = pa.string() if self.values.dtype == object else None
        return pa.array(self.values[start:stop], kind, mask=~self.there[start:stop])

    def inside(self, begin: int, end: int, stop: int) -> tuple[list[Any], list[int]]:
        """The values and times of the first `stop` rows with begin <= time < end."""
        mask = self.there[:stop] & (self.times[:stop] >= begin) & (self.times[:stop] < end)
        return self.values[:stop][mask].tolist(), self.times[:stop][mask].tolist()


def stream(times: Any, values: Any, there: Any = None) -> ValueStream:
    """A stream of these columns."""
    ascending = np.array(times, np.int64)
    return ValueStream(ascending, np.asarray(values), np.ones(len(ascending), bool) if there is None else there)


def some_values(kind: str, unit: float | None, rng: np.random.Generator, size: int) -> Array:
    """Random values of a kind, with many ties; floats are multiples of the unit, if there is one."""
    if kind == "t":
        return _WORDS[rng.integers(0, len(_WORDS), size)]
    if kind == "b":
        return rng.random(size) < 0.4
    if kind == "-":
        return np.ones(size, np.int8)
    whole = np.where(rng.random(size) < 0.8, rng.integers(-4, 9, size), rng.integers(-(10**9), 10**9, size))
    if kind == "i":
        return whole * _step(unit)
    if unit is not None:
        return np.round(whole * unit, 6)
    odd = np.array([0.1, 0.2, 0.3, -0.1, 1e16, -1e16, 1.0, 1e-9, 2.0**-30, 3.7e5])
    return np.where(rng.random(size) < 0.5, odd[rng.integers(0, len(odd), size)], whole / 100)


def tiny(kinds: str, unit: float | None) -> Iterator[ValueStream]:
    """All streams of up to four rows of two values and null, with ties in time."""
    number = 0
    for length in range(TINY_ROWS + 1):
        for steps in product((0, 1, 3), repeat=length):
            kind = kinds[number % len(kinds)]
            step = _step(unit)
            two: dict[str, list[Any]] = {
                "t": ["a", "ä"],
                "b": [False, True],
                "-": [1, 1],
                "f": [-2.0 * step, 3.0 * step],
            }
            for picks in product((0, 1, None), repeat=length):
                number += 1
                if length == TINY_ROWS and number % 41:
                    continue
                values = [two.get(kind, [-2 * step, 3 * step])[place or 0] for place in picks]
                there = np.array([place is not None or kind == "-" for place in picks], bool)
                yield stream(np.cumsum(steps), np.array(values, _TYPES[kind]), there)


def seeded(kinds: str, unit: float | None, seed: int, rows: int = ROWS_OF_SEED) -> ValueStream:
    """Ties, bursts and gaps, nulls, values far apart."""
    rng = np.random.default_rng([70, seed])
    steps = rng.choice([0, 1, 2, 9, 60], rows, p=[0.45, 0.3, 0.15, 0.08, 0.02])
    values = some_values(kinds[seed % len(kinds)], unit, rng, rows)
    there = rng.random(rows) < 0.85
    return stream(np.cumsum(steps) - 40, values, there | (values.dtype == np.int8))


def _step(unit: float | None) -> int:
    """What integers are multiples of."""
    return 1 if unit is None else max(1, int(unit))
