"""Rows of row-features in a state, in few bytes: steps of time, and what is kept of each column, using numpy only."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64, UInt64
from skyband.columns import record_batch_bytes
from skyband.state_validation import StateReader

from skyband_totals.fixed_point import MOST
from skyband_totals.row_aggregates.storages import FLAGS, INSIDE, REASONS, Floats, HashesOnly, Integers, Units

Kinds = Mapping[str, npt.DTypeLike | pa.DataType]
_FARTHEST = 2**62
_MOST_ROWS = 2**31
_SCALES = (1, 10, 100, 1000, 10_000)
"""Floats are tried as multiples of these powers of ten."""
_WIDEST = 8
"""Bytes of a number."""


def to_arrays(times: Int64, columns: Mapping[str, Any], kinds: Kinds) -> dict[str, Array]:
    """The arrays of rows in order of time. Equal rows in the same order give equal arrays. O(n log n)."""
    steps = np.diff(times, prepend=times[:1])
    unit = max(int(np.gcd.reduce(steps)), 1) if len(steps) else 1
    arrays = {
        "rows": np.array([len(times)]), "start": times[:1].copy(), "unit": np.array([unit]),
        "steps": _packed((steps // unit).view(np.uint64)),
    }  # fmt: skip
    for name in kinds:
        for part, array in _parts(name.partition(".")[0], columns[name]).items():
            arrays[f"{name}{part}"] = array
    return arrays


def from_arrays(state: StateReader, kinds: Kinds) -> tuple[Int64, dict[str, Any]]:
    """The times and columns of the rows. Raises SnapshotError for arrays that `to_arrays` does not make. O(n)."""
    count = state.number("rows", at_least=0, at_most=_MOST_ROWS)
    start = state.column("start", np.int64, min(count, 1), at_least=-_FARTHEST, at_most=_FARTHEST)
    unit = state.number("unit", at_least=1, at_most=2 * _FARTHEST)
    steps = _unpacked(state, "steps", count)
    end = 0.0 if not count else int(start[0]) + float(steps.astype(np.float64).sum()) * unit
    state.require(end <= _FARTHEST and (not count or steps[0] == 0), "steps", "must lead to times below 2^62")
    times = (start[0] if count else 0) + np.cumsum(steps.view(np.int64) * unit)
    return times, {name: _column(state, name, kind, count) for name, kind in kinds.items()}


def _parts(sort: str, column: Any) -> dict[str, Array]:
    """A kept column as arrays, by the end of their names; sort: how the column's name begins."""
    if sort in FLAGS:
        return {"": np.packbits(column.astype(bool))}
    if sort == Floats.prefix:
        return _floats(column)
    if sort == Integers.prefix:
        return _whole_numbers(column)
    if sort == Units.prefix:
        signed = np.where(column > MOST, column - MOST, INSIDE)
        packed = _packed(signed.view(np.uint64)) if signed.any() else np.empty(0, np.uint8)
        return {**_whole_numbers(np.where(signed == INSIDE, column, 0)), " codes": packed}
    if sort == HashesOnly.prefix:
        words, codes = np.unique(column, return_inverse=True)
        return {" words": words, "": _packed(codes.astype(np.uint64))}
    encoded = column.dictionary_encode()
    values = pa.RecordBatch.from_arrays([encoded.dictionary], ["words"])
    codes = encoded.indices.fill_null(len(values)).to_numpy().astype(np.uint64)
    parts = record_batch_bytes.to_arrays(values, " words")
    return {"": _packed(codes), " count": np.array([len(values)]), **parts}


def _column(state: StateReader, name: str, kind: Any, count: int) -> Any:
    sort = name.partition(".")[0]
    if sort in FLAGS:
        bits = state.column(name, np.uint8, -(-count // 8))
        return np.unpackbits(bits, count=count).astype(np.int8)
    if sort == Floats.prefix:
        scale = state.number(f"{name} scale", at_least=0, at_most=_SCALES[-1])
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


def _floats(column: Float64) -> dict[str, Array]:
    """Floats of few decimals as whole numbers, if that gives back each bit; others as they are."""
    if np.isfinite(column).all():
        for scale in _SCALES:
            numbers = np.rint(np.clip(column * scale, -MOST, MOST)).astype(np.int64)
            if np.array_equal((numbers / scale).view(np.int64), column.view(np.int64)):
                return {**_whole_numbers(numbers), " scale": np.array([scale])}
    return {"": column.copy(), " scale": np.array([0])}


def _whole_numbers(numbers: Int64) -> dict[str, Array]:
    least = numbers.min() if len(numbers) else 0
    return {"": _packed(numbers.view(np.uint64) - np.uint64(int(least) & (2**64 - 1))), " least": np.array([least])}


def _read_numbers(state: StateReader, name: str, count: int) -> Int64:
    least = state.column(f"{name} least", np.int64, 1).view(np.uint64)
    return (_unpacked(state, name, count) + least).view(np.int64)


def _packed(numbers: UInt64) -> Array:
    """uint8[n · k]: numbers in as many bytes each as the largest needs, at least one, the low ones first."""
    width = (max(int(numbers.max(initial=0)), 1).bit_length() + 7) // 8
    return np.ascontiguousarray(numbers.astype("<u8").view(np.uint8).reshape(-1, _WIDEST)[:, :width]).reshape(-1)


def _unpacked(state: StateReader, name: str, count: int) -> UInt64:
    """uint64[count]. Raises SnapshotError unless these are `count` numbers."""
    packed = state.column(name, np.uint8)
    width = len(packed) // max(count, 1)
    whole = len(packed) == width * count and (not count or 1 <= width <= _WIDEST)
    state.require(whole, name, f"must be {count} numbers")
    numbers = np.zeros((count, _WIDEST), np.uint8)
    numbers[:, :width] = packed.reshape(count, width)
    return numbers.view("<u8").reshape(-1).astype(np.uint64, copy=False)
