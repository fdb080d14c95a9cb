"""Writes rows of row-features into states, in few bytes: steps of time, and what is kept of each column.

Groups with as many rows are written together, as matrices with a row for each.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64, UInt64
from skyband.columns import record_batch_bytes

from skyband_totals.fixed_point import MOST
from skyband_totals.row_aggregates.storages import FLAGS, INSIDE, Floats, HashesOnly, Integers, Units
from skyband_totals.row_features.rows_in_states import MOST_SCALE, WIDEST, Kinds

_SCALES = (1, 10, 100, 1000, MOST_SCALE)
"""Floats are tried as multiples of these powers of ten."""
Matrices = dict[str, Array]
"""Arrays of states by their names, [groups, length]: a row for each group."""


class Part(NamedTuple):
    """A part of the states of g groups."""

    shape: Int64
    """int64[g]: arrays of groups with the same number have the same names and lengths."""
    cut: Callable[[Int64], Matrices]
    """The arrays of some groups, by their places, which have one shape."""


def rows_as_arrays(times: Int64, columns: Mapping[str, Any], kinds: Kinds) -> dict[str, Array]:
    """The arrays of rows in order of time. Equal rows in the same order give equal arrays. O(n log n)."""
    one = np.zeros(1, np.int64)
    parts = parts_of(one, len(times), times, columns, kinds)
    return {name: np.ascontiguousarray(rows[0]) for part in parts for name, rows in part.cut(one).items()}


def parts_of(first: Int64, size: int, times: Int64, columns: Mapping[str, Any], kinds: Kinds) -> Iterator[Part]:
    """The arrays of g groups, each with the rows first[i]..first[i] + size, in order of time."""
    places = first[:, None] + np.arange(size)
    yield _times(times[places])
    for name in kinds:
        column = columns[name]
        if isinstance(column, np.ndarray):
            yield _PARTS[name.partition(".")[0]](name, column[places])
        else:
            yield _words(name, [column.slice(start, size) for start in first.tolist()])


def _times(times: Int64) -> Part:
    groups, size = times.shape
    steps = np.diff(times, axis=1, prepend=times[:, :1])
    units = np.maximum(np.gcd.reduce(steps, axis=1), 1)
    packed = _packed("steps", (steps // units[:, None]).view(np.uint64))
    always = {"rows": np.full((groups, 1), size), "start": times[:, :1], "unit": units[:, None]}
    return Part(packed.shape, lambda groups: packed.cut(groups) | {name: rows[groups] for name, rows in always.items()})


def _flags(name: str, flags: Array) -> Part:
    bits = np.packbits(flags.astype(bool), axis=1)
    return Part(np.zeros(len(bits), np.int64), lambda groups: {name: bits[groups]})


def _floats(name: str, floats: Float64) -> Part:
    """Floats of few decimals as whole numbers, if that gives back each bit; others as they are."""
    scales, numbers = np.zeros(len(floats), np.int64), np.zeros(floats.shape, np.int64)
    open_ones = np.flatnonzero(np.isfinite(floats).all(axis=1))
    for scale in _SCALES:
        values = floats[open_ones]
        multiples = np.rint(np.clip(values * scale, -MOST, MOST)).astype(np.int64)
        fits = ((multiples / scale).view(np.int64) == values.view(np.int64)).all(axis=1)
        scales[open_ones[fits]], numbers[open_ones[fits]] = scale, multiples[fits]
        open_ones = open_ones[~fits]
    whole = _whole_numbers(name, numbers)

    def cut(groups: Int64) -> Matrices:
        own = whole.cut(groups) if scales[groups[0]] else {name: floats[groups]}
        return own | {f"{name} scale": scales[groups, None]}

    return Part(np.where(scales > 0, whole.shape, 0), cut)


def _units(name: str, units: Int64) -> Part:
    codes = np.where(units > MOST, units - MOST, INSIDE)
    whole, packed = _whole_numbers(name, np.where(codes == INSIDE, units, 0)), _packed(f"{name} codes", codes)
    coded = np.asarray(codes.any(axis=1))

    def cut(groups: Int64) -> Matrices:
        own = packed.cut(groups) if coded[groups[0]] else {f"{name} codes": np.empty((len(groups), 0), np.uint8)}
        return own | whole.cut(groups)

    return Part(whole.shape + (WIDEST + 1) * np.where(coded, packed.shape, 0), cut)


def _hashes(name: str, hashes: UInt64) -> Part:
    """The distinct hashes of each group, ascending, and their numbers."""
    order = np.argsort(hashes, axis=1, kind="stable")
    ascending = np.take_along_axis(hashes, order, axis=1)
    is_new = np.ones(hashes.shape, bool)
    is_new[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    codes = np.empty(hashes.shape, np.int64)
    np.put_along_axis(codes, order, np.cumsum(is_new, axis=1) - 1, axis=1)
    packed = _packed(name, codes)

    def cut(groups: Int64) -> Matrices:
        words = ascending[groups][is_new[groups]].reshape(len(groups), -1)
        return packed.cut(groups) | {f"{name} words": words}

    return Part(is_new.sum(axis=1), cut)


def _whole_numbers(name: str, numbers: Int64) -> Part:
    least = numbers.min(axis=1) if numbers.shape[1] else np.zeros(len(numbers), np.int64)
    packed = _packed(name, numbers.view(np.uint64) - least.view(np.uint64)[:, None])
    return Part(packed.shape, lambda groups: packed.cut(groups) | {f"{name} least": least[groups, None]})


def _packed(name: str, numbers: Array) -> Part:
    """Numbers from 0 on, in as many bytes each as the largest of the group needs, at least one, the low ones first."""
    small = np.ascontiguousarray(numbers).astype("<u8").view(np.uint8).reshape(*numbers.shape, WIDEST)
    largest = numbers.view(np.uint64).max(axis=1, initial=0)
    widths = 1 + (largest[:, None] >> np.arange(8, 64, 8, dtype=np.uint64) > 0).sum(axis=1)
    return Part(widths, lambda groups: {name: small[groups, :, : widths[groups[0]]].reshape(len(groups), -1)})


def _words(name: str, columns: list[pa.Array]) -> Part:
    """Text, bytes and decimals: the distinct values of each group in order of first use, and their numbers."""
    words = [_words_of(name, column) for column in columns]
    shapes: dict[Any, int] = {}
    shape = [shapes.setdefault(tuple((part, len(own[part])) for part in own), len(shapes)) for own in words]

    def cut(groups: Int64) -> Matrices:
        return {part: np.stack([words[group][part] for group in groups.tolist()]) for part in words[groups[0]]}

    return Part(np.array(shape, np.int64), cut)


def _words_of(name: str, column: pa.Array) -> dict[str, Array]:
    encoded = column.dictionary_encode()
    values = pa.RecordBatch.from_arrays([encoded.dictionary], ["words"])
    codes = encoded.indices.fill_null(len(values)).to_numpy().astype(np.int64)[None, :]
    packed = {part: rows[0] for part, rows in _packed(name, codes).cut(np.zeros(1, np.int64)).items()}
    words = record_batch_bytes.to_arrays(values, f"{name} words")
    return {**packed, f"{name} count": np.array([len(values)]), **words}


_PARTS: Mapping[str, Callable[[str, Any], Part]] = {
    **dict.fromkeys(FLAGS, _flags),
    Floats.prefix: _floats,
    Integers.prefix: _whole_numbers,
    Units.prefix: _units,
    HashesOnly.prefix: _hashes,
}
