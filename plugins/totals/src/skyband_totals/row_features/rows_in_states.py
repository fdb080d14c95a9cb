"""Reads the rows of row-features in a state, which `written_rows` writes, using numpy only."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from skyband.arrays import Int64, UInt64
from skyband.columns import record_batch_bytes
from skyband.state_validation import StateReader

from skyband_totals.fixed_point import MOST
from skyband_totals.row_aggregates.storages import FLAGS, INSIDE, REASONS, Floats, HashesOnly, Integers, Units

Kinds = Mapping[str, npt.DTypeLike | pa.DataType]
_FARTHEST = 2**62
_MOST_ROWS = 2**31
MOST_SCALE = 10_000
"""Of floats written as whole multiples of 1 / scale."""
WIDEST = 8
"""Bytes of a number."""


def from_arrays(state: StateReader, kinds: Kinds) -> tuple[Int64, dict[str, Any]]:
    """The times and columns of the rows. Raises SnapshotError for arrays that `rows_as_arrays` does not make. O(n)."""
    count = state.number("rows", at_least=0, at_most=_MOST_ROWS)
    start = state.column("start", np.int64, min(count, 1), at_least=-_FARTHEST, at_most=_FARTHEST)
    unit = state.number("unit", at_least=1, at_most=2 * _FARTHEST)
    steps = _unpacked(state, "steps", count)
    end = 0.0 if not count else int(start[0]) + float(steps.astype(np.float64).sum()) * unit
    state.require(end <= _FARTHEST and (not count or steps[0] == 0), "steps", "must lead to times below 2^62")
    times = (start[0] if count else 0) + np.cumsum(steps.view(np.int64) * unit)
    return times, {name: _column(state, name, kind, count) for name, kind in kinds.items()}


def _column(state: StateReader, name: str, kind: Any, count: int) -> Any:
    sort = name.partition(".")[0]
    if sort in FLAGS:
        bits = state.column(name, np.uint8, -(-count // 8))
        return np.unpackbits(bits, count=count).astype(np.int8)
    if sort == Floats.prefix:
        scale = state.number(f"{name} scale", at_least=0, at_most=MOST_SCALE)
        return _read_numbers(state, name, count) / scale if scale else state.column(name, np.float64, count).copy()
    if sort == Integers.prefix:
        return _read_numbers(state, name, count)
    if sort == Units.prefix:
        some = count if len(state.column(f"{name} codes", np.uint8)) else 0
        numbers, codes = _read_numbers(state, name, count), _unpacked(state, f"{name} codes", some).view(np.int64)
        codes = codes if some else np.zeros(count, np.int64)
        fine = (np.abs(numbers) <= MOST).all() and (codes <= max(REASONS)).all() and (codes >= INSIDE).all()
        state.require(bool(fine), name, "must be at most 2^53 units, or have a code")
        return np.where(codes == INSIDE, numbers, codes + MOST)
    entries = _unpacked(state, name, count)
    if sort == HashesOnly.prefix:
        words = state.column(f"{name} words", np.uint64)
        state.require(bool((entries < len(words)).all()), name, "must be places of its words")
        return words[entries.view(np.int64)]
    size = state.number(f"{name} count", at_least=0, at_most=count)
    state.require(bool((entries <= size).all()), name, "must be places of its words")
    schema = pa.schema([("words", kind)])
    words = record_batch_bytes.from_arrays(schema, size, f"{name} words", state.arrays).column(0)
    places = entries.view(np.int64)
    return words.take(pa.array(places, mask=places == size))


def _read_numbers(state: StateReader, name: str, count: int) -> Int64:
    least = state.column(f"{name} least", np.int64, 1).view(np.uint64)
    return (_unpacked(state, name, count) + least).view(np.int64)


def _unpacked(state: StateReader, name: str, count: int) -> UInt64:
    """uint64[count]. Raises SnapshotError unless these are `count` numbers."""
    packed = state.column(name, np.uint8)
    width = len(packed) // max(count, 1)
    whole = len(packed) == width * count and (not count or 1 <= width <= WIDEST)
    state.require(whole, name, f"must be {count} numbers")
    numbers = np.zeros((count, WIDEST), np.uint8)
    numbers[:, :width] = packed.reshape(count, width)
    return numbers.view("<u8").reshape(-1).astype(np.uint64, copy=False)
