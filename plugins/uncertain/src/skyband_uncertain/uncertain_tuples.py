"""Encodes columns of uncertain tuples, lists of values and their probabilities, for windows and matchers."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from skyband.arrays import Array, Float64, Int64
from skyband.columns.hashing import hash_columns
from skyband.columns.numbers import as_float64, is_number
from skyband.columns.rows import Rows
from skyband.errors import InputError, SnapshotError
from skyband.roles.matcher import SUM_SLACK

WHAT = "a number, or a list of numbers (one per sample)"
_LISTS = pa.large_list(pa.float64())
_HALF_ULP = 2.0**-53
"""The most that a sum near 1 loses with each sample: by rounding it to float64, and by adding it."""


@frozen
class Samples:
    """Tuples as flat arrays: tuple i has the samples offsets[i] to offsets[i + 1].

    further: for points in a plane or in space, the second and the third coordinate of each sample.
    """

    offsets: Int64
    values: Float64
    probabilities: Float64
    further: tuple[Float64, ...] = ()

    def points(self) -> Float64:
        """float64[d, m]: all coordinates of each sample."""
        return np.stack([self.values, *self.further])

    def part(self, start: int, stop: int) -> "Samples":
        """The tuples start..stop."""
        if start == 0 and stop == len(self.offsets) - 1:
            return self
        offsets = self.offsets[start : stop + 1]
        own = slice(offsets[0], offsets[-1])
        further = tuple(values[own] for values in self.further)
        return Samples(offsets - offsets[0], self.values[own], self.probabilities[own], further)

    def of_rows(self, rows: Int64) -> "Samples":
        """The tuples of these rows."""
        if len(rows) == len(self.offsets) - 1 and bool((rows[1:] > rows[:-1]).all()):  # all rows
            return self
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        picked = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        further = tuple(values[picked] for values in self.further)
        return Samples(offsets, self.values[picked], self.probabilities[picked], further)

    def existence(self) -> Float64:
        """float64[n]: the probability that each tuple exists, eq. 1 of Dallachiesa et al.

        A sum that differs from 1 by rounding only is 1: six times a sixth is certain, and alpha = 1 relies on it.
        """
        sums = _sums(self.probabilities, self.offsets)
        added = np.diff(self.offsets)
        sums[(added > 1) & (sums > 1.0 - added * _HALF_ULP)] = 1.0
        return np.minimum(sums, 1.0)

    def means(self) -> Float64:
        """float64[n]: the sum of Pr(v)·v over each tuple's samples: its contribution to an expected sum."""
        return _sums(self.probabilities * self.values, self.offsets)


def _coordinate(number: int) -> str:
    """The frame column of a coordinate, counted from 0."""
    return f"values.{number}" if number else "values"


def encode_samples(
    values: pa.Array, probabilities: pa.Array, further: Mapping[str, pa.Array] | None = None
) -> tuple[dict[str, pa.Array], Array]:
    """Frame columns values and probabilities (lists of float64) and tie (uint64), and a mask of rows with a null.

    further: the columns of the second and the third coordinate, by name; they become frame columns too.

    `tie` is a hash of the samples as a set, to order tuples with equal times. Raises InputError, naming the row, on
    values that are not finite, on invalid probabilities or a sum above 1, and on unequal lengths.
    """
    others = {name: _as_lists(f"values in column {name!r}", column) for name, column in (further or {}).items()}
    lists = [_as_lists("values", values), _as_lists("probabilities", probabilities), *others.values()]
    null = np.logical_or.reduce([_has_null(column) for column in lists])
    valid = np.flatnonzero(~null)
    picked = [column.take(pa.array(valid)) for column in lists]
    samples = _checked(picked[0], picked[1], valid, dict(zip(others, picked[2:], strict=True)))
    ties = np.zeros(len(null), np.uint64)
    hashes = hash_columns([pa.array(column) for column in (samples.values, samples.probabilities, *samples.further)])
    ties[valid] = _sums(hashes, samples.offsets)
    coordinates = {_coordinate(number): column for number, column in enumerate(others.values(), 1)}
    return {"values": lists[0], "probabilities": lists[1], **coordinates, "tie": pa.array(ties)}, null


def check_samples(frame: pa.RecordBatch, coordinates: int) -> None:
    """Raise SnapshotError if a frame of a state has contents that `encode_samples` never makes."""
    columns = [frame.column(name) for name in ("values", "probabilities", *map(_coordinate, range(1, coordinates)))]
    if frame.column("tie").null_count or any(column.null_count or column.flatten().null_count for column in columns):
        raise SnapshotError("is inconsistent: samples must be without nulls")
    further = {_coordinate(number): column for number, column in enumerate(columns[2:], 1)}
    try:
        _checked(columns[0], columns[1], np.arange(len(frame)), further)
    except InputError as error:
        raise SnapshotError(f"is inconsistent: it has impossible rows: {error}") from error


def samples_of(rows: Rows) -> Samples:
    """The samples of a frame's rows."""
    samples, start, stop = rows.once(_all_samples)
    return samples.part(start, stop)


def existence_and_means(rows: Rows) -> tuple[Float64, Float64]:
    """The probability that each of a frame's rows exists, and its contribution to an expected sum."""
    (existence, means), start, stop = rows.once(_all_existence_and_means)
    return existence[start:stop], means[start:stop]


def _all_existence_and_means(rows: Rows) -> tuple[Float64, Float64]:
    samples, _, _ = rows.once(_all_samples)
    return samples.existence(), samples.means()


def _all_samples(rows: Rows) -> Samples:
    values, probabilities = rows["values"], rows["probabilities"]
    names = [_coordinate(number) for number in (1, 2) if _coordinate(number) in rows]
    return Samples(_offsets(values), _flat(values), _flat(probabilities), tuple(_flat(rows[name]) for name in names))


def is_samples(kind: pa.DataType) -> bool:
    """Whether a column of this type can hold samples: a number, or a list of them."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    return is_number(kind)


def _as_lists(name: str, column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        if pa.types.is_floating(kind.value_type):
            return column.cast(_LISTS)
        flat = _flat_float64(name, column)
        return pa.LargeListArray.from_arrays(pa.array(_offsets(column)), flat, mask=column.is_null())
    offsets = np.arange(len(column) + 1)
    return pa.LargeListArray.from_arrays(pa.array(offsets), as_float64(name, column))


def _flat_float64(name: str, lists: pa.Array) -> pa.Array:
    try:
        return as_float64(f"samples of {name}", pc.list_flatten(lists))
    except InputError as error:  # rows of the flattened samples: convert them to rows
        rows = np.unique(pc.list_parent_indices(lists).to_numpy()[error.rows])
        raise InputError(error.argument, error.message, int(rows[0]), rows=rows, reason=error.reason) from error


def _has_null(lists: pa.Array) -> Array:
    missing = lists.is_null().to_numpy(zero_copy_only=False)
    flat = pc.list_flatten(lists)
    if flat.null_count:
        owners = pc.list_parent_indices(lists).filter(flat.is_null()).to_numpy()
        missing[owners] = True
    return missing


def _checked(values: pa.Array, probabilities: pa.Array, rows: Int64, further: Mapping[str, pa.Array]) -> Samples:
    lengths = np.diff(_offsets(values))
    for name, column in further.items():
        own = np.diff(_offsets(column))
        uneven = np.flatnonzero(own != lengths)
        if len(uneven):
            reason = "must have as many samples as the first column of values"
            got = f"(got {own[uneven[0]]}, not {lengths[uneven[0]]}): one for each of the points"
            raise InputError(name, f"{reason} {got}", int(rows[uneven[0]]), rows=rows[uneven], reason=reason)
    flat = tuple(map(_flat, further.values()))
    samples = Samples(_offsets(values), _flat(values), _flat(probabilities), flat)
    uneven = np.flatnonzero(np.diff(samples.offsets) != np.diff(_offsets(probabilities)))
    if len(uneven):
        message = "must have one entry for each of the values"
        raise InputError("probabilities", message, int(rows[uneven[0]]), rows=rows[uneven])
    owners = np.repeat(rows, np.diff(samples.offsets))
    _refuse("values", samples.values, ~np.isfinite(samples.values), owners, "must be finite")
    for name, coordinates in zip(further, samples.further, strict=True):
        _refuse(name, coordinates, ~np.isfinite(coordinates), owners, "must be finite")
    outside = ~((samples.probabilities >= 0.0) & (samples.probabilities <= 1.0))
    _refuse("probabilities", samples.probabilities, outside, owners, "must be numbers from 0 to 1")
    sums = _sums(samples.probabilities, samples.offsets)
    _refuse("probabilities", sums, sums > 1.0 + SUM_SLACK, rows, "may sum to at most 1")
    return samples


def _refuse(key: str, values: Float64, wrong: Array, rows: Int64, message: str) -> None:
    if wrong.any():
        first = int(wrong.argmax())
        text = f"{message} (got {float(values[first])!r})"
        raise InputError(key, text, int(rows[first]), rows=np.unique(rows[wrong]), reason=message)


def _offsets(lists: pa.Array) -> Int64:
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy()
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _flat(lists: pa.Array) -> Float64:
    return pc.list_flatten(lists).to_numpy(zero_copy_only=False).astype(np.float64, copy=False)


def _sums(entries: Array, offsets: Int64) -> Array:
    """The sum of each tuple's entries; 0 if it has none."""
    if not len(entries):
        return np.zeros(len(offsets) - 1, entries.dtype)
    # The last tuple's sum must end with it: a further summand, even 0, would change the order of summation.
    sums = np.add.reduceat(np.append(entries, entries[:1] * 0), offsets)[:-1]
    sums[offsets[1:] == offsets[:-1]] = 0
    return sums
