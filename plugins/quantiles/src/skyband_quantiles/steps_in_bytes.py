"""Steps of a window in few bytes: what is remembered of it after it has ended, using numpy only.

Intervals become the leading bits of their ends, rounded outwards. If all values are known, they stay as they are.
"""

from collections.abc import Sequence

import numpy as np
from skyband.arrays import Array, Float64, Int64
from skyband.errors import SnapshotError

from skyband_quantiles import varints
from skyband_quantiles.buckets.contents import keys_of
from skyband_quantiles.distances import Steps, below

MOST_INTERVALS = 512
"""The most intervals: more are laid together, which adds little to the width of bounds and keeps them certain."""
MOST_VALUES = 1024
"""The most known values, each an interval alone."""
_WIDEST, _FINER = 46, 4
_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_LEAST_KEY, _LARGEST_KEY = keys_of(np.array([-np.inf, np.inf]))
_PARTS = 1 << 20
"""The share of the rows that probably are in the window is rounded to a multiple of one by this."""
_POINTS = 64
"""In place of a shift: all values are known."""
_HEAD = 4


def to_bytes(steps: Steps, cuts: Sequence[float], all_values: bool = False) -> tuple[Float64, Array]:
    """The known values, and uint8[n] for all else; for many rows about 2 KB, with bounds at most a little wider.

    cuts: the numbers above which rows may be counted. all_values: keep all values that are known, not only up to
    MOST_VALUES, so that equal bounds stay equal. O(n log n).
    """
    points = bool((steps.least == steps.largest).all()) and (all_values or len(steps.least) <= MOST_VALUES)
    rows = int(steps.maybe.sum())
    share = round(float(steps.likely.sum()) / rows * _PARTS) if rows else 0
    counted = [number for cut in cuts for number in _rows_above(steps, cut)]
    steps = steps if points else _laid_together(steps)
    shift = _POINTS
    parts: list[Array] = []
    if not points:
        least, largest = keys_of(steps.least), keys_of(steps.largest)
        shift = _shift_of(least, largest)
        least, largest = least >> shift, largest >> shift
        parts += [np.diff(least, prepend=_first_id(shift)), largest - least]
    parts += [steps.sure, steps.maybe] if rows else [steps.sure]
    parts.insert(0, np.array([shift, len(steps.least), share, rows > 0, *counted], np.int64))
    return (steps.least if points else np.empty(0)), varints.to_bytes(np.concatenate(parts))


def from_bytes(values: Float64, encoded: Array, cuts: Sequence[float]) -> Steps:
    """The steps. Raises SnapshotError for what `to_bytes` cannot have made. O(n)."""
    numbers = varints.from_bytes("steps", encoded)
    head = _HEAD + 3 * len(cuts)
    _require(len(numbers) >= head)
    shift, size, share, has_maybe = numbers[:_HEAD].tolist()
    points = shift == _POINTS
    columns = (0 if points else 2) + 1 + (has_maybe > 0)
    _require(
        (points or 1 <= shift <= _WIDEST) and share <= _PARTS and size > 0 and len(numbers) == head + columns * size
    )
    rest = numbers[head:].reshape(columns, size)
    _require(bool((rest <= 2**53).all()) or not points)
    sure, maybe = rest[0 if points else 2], rest[-1] if has_maybe else np.zeros(size, np.int64)
    _require(float(sure.sum(dtype=float) + maybe.sum(dtype=float)) < 2**53 and bool((sure + maybe > 0).all()))
    _require(len(values) == (size if points else 0))
    if points:
        _require(bool((values[1:] > values[:-1]).all()) and not np.isnan(values).any())
        least = largest = values
    else:
        first = _first_id(shift) + np.cumsum(rest[0])
        last = first + rest[1]
        whole = (first >= _LEAST_KEY >> shift) & (last >= first) & (last <= _LARGEST_KEY >> shift)
        _require(bool(whole.all()) and bool((last[1:] >= last[:-1]).all() and (first[1:] >= first[:-1]).all()))
        least, largest = _values_of(first << shift), _values_of((first + rest[1] << shift) + ((1 << shift) - 1))
    above = {}
    for cut, (is_counted, over, perhaps) in zip(cuts, numbers[_HEAD:head].reshape(-1, 3).tolist(), strict=True):
        if is_counted:
            _require(over <= sure.sum() and perhaps <= maybe.sum())
            above[cut] = over, perhaps, perhaps * share / _PARTS
    return Steps(least, largest, sure, maybe, maybe * (share / _PARTS), above)


def _rows_above(steps: Steps, cut: float) -> tuple[int, int, int]:
    """Whether it is known how many rows are above a number, and if so, the sure ones and others."""
    rows = below(steps, np.array([cut]))
    if rows.sure[0] < rows.sure_at_most[0] or rows.maybe[0] < rows.maybe_at_most[0]:
        return 0, 0, 0
    return 1, int(steps.sure.sum() - rows.sure[0]), int(steps.maybe.sum() - rows.maybe[0])


def _laid_together(steps: Steps) -> Steps:
    """At most MOST_INTERVALS, with about as many rows each: neighbours become one interval."""
    if len(steps.least) <= MOST_INTERVALS:
        return steps
    rows = steps.sure + steps.maybe
    before = np.cumsum(rows) - rows
    part = before * MOST_INTERVALS // int(rows.sum())
    first = np.flatnonzero(np.append(True, part[1:] != part[:-1]))
    last = np.append(first[1:], len(rows)) - 1
    sums = [np.add.reduceat(column, first) for column in (steps.sure, steps.maybe, steps.likely)]
    return Steps(steps.least[first], steps.largest[last], sums[0], sums[1], sums[2], steps.above)


def _shift_of(least: Int64, largest: Int64) -> int:
    """The bits of a key that are left out: few enough that neighbours stay apart; one, so that steps fit 63 bits."""
    unlike = (least[1:] ^ largest[:-1]).view(np.uint64)
    most = int(unlike.min(initial=np.uint64(1 << _WIDEST))).bit_length() - 1
    return max(_WIDEST - (_WIDEST - most + _FINER - 1) // _FINER * _FINER, 1)


def _first_id(shift: int) -> int:
    """One below the least id, so that all steps between ids are above 0 for neighbours that are apart."""
    return int(_LEAST_KEY >> shift) - 1


def _values_of(keys: Int64) -> Float64:
    """The values with these keys, or the infinity that is beyond."""
    bits = np.clip(keys, _LEAST_KEY, _LARGEST_KEY)
    return (bits ^ ((bits >> 63) & _SIGN)).view(np.float64) + 0.0


def _require(holds: bool) -> None:
    if not holds:
        raise SnapshotError("contradicts itself: steps: are those of no window")
