"""Checks numpy arrays that enter or leave a backend; errors name the argument and the first bad row."""

from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from skyband.errors import InputError

TIME_MIN, TIME_MAX = -(2**63), 2**63 - 1
"""The ends of int64: before and after every moment, so also "no moment yet" and "no more moments"."""

FEW = 16
"""For at most this many values a Python loop beats numpy's overhead, as when many groups get one row each."""

Array = npt.NDArray[Any]
Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]
Float64 = npt.NDArray[np.float64]


def column(name: str, values: npt.ArrayLike, dtype: npt.DTypeLike, length: int | None = None) -> Array:
    """`values` as a contiguous one-dimensional array of `dtype`, copied only if necessary.

    Raises InputError if the conversion would change a value, or the length is not `length`.
    """
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype == dtype and values.flags.c_contiguous:
        fits = length is None or len(values) == length
        if fits:  # the usual case: nothing to do
            return values
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(name, "must not be a masked array: fill its gaps or drop those rows")
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise InputError(name, f"must be one-dimensional: {error}") from error
    if array.ndim != 1:
        raise InputError(name, f"must be one-dimensional (got {array.ndim} dimensions)")
    if length is not None and len(array) != length:
        raise InputError(name, f"must have {length} values, as the other arguments have (got {len(array)})")
    kind = np.dtype(dtype)
    if array.dtype == kind:
        return np.ascontiguousarray(array)
    if array.dtype.kind not in "iufb":
        raise InputError(name, f"must be {kind.name} (got {array.dtype.name})")
    with np.errstate(invalid="ignore", over="ignore"):
        converted = array.astype(kind)
        changed = (converted != array) | ((converted < 0) != (array < 0))
        if kind.kind == "f":
            changed = (changed & ~np.isnan(array)) if array.dtype.kind == "f" else changed | _rounded(array, converted)
    changed = np.flatnonzero(changed)
    if len(changed):
        row = int(changed[0])
        raise InputError(name, f"{array[row].item()!r} does not fit {kind.name}", row)
    return np.ascontiguousarray(converted)


def _rounded(array: Array, converted: Array) -> Array:
    """bool[n]: whole numbers with more digits than these floats hold, which a comparison of the two does not show."""
    if array.dtype.kind == "b":
        return np.zeros(len(array), bool)
    most = 2 ** (np.finfo(converted.dtype).nmant + 1)
    large: Array = (array > most) | (array < -most if array.dtype.kind == "i" else False)
    for row in np.flatnonzero(large):
        large[row] = int(converted[row]) != int(array[row])
    return large


def moment(name: str, value: Any) -> int:
    """`value`, Python's or numpy's, as an int of any size: a query may name a moment beyond all times.

    Raises InputError if it is not a whole number.
    """
    try:
        return index(value)
    except TypeError:
        raise InputError(name, f"must be a whole number (got {value!r})") from None


def whole(name: str, value: Any) -> int:
    """`value`, Python's or numpy's, as an int that fits int64. Raises InputError if it is not one."""
    number = moment(name, value)
    if not -(2**63) <= number < 2**63:
        raise InputError(name, f"must fit int64 (got {number})")
    return number


def never_back(name: str, times: Int64, now: int | None) -> None:
    """Raise unless `times` are ascending and none is before `now` (None: no time seen yet)."""
    if not len(times):
        return
    if now is not None and times[0] < now:
        raise InputError(name, f"{int(times[0])} is before {now}, the time already reached; times never go back", 0)
    if len(times) == 1:
        return
    falls = times[1:] < times[:-1]
    if falls.any():
        row = int(falls.argmax()) + 1
        raise InputError(name, f"{int(times[row])} is before the row above ({int(times[row - 1])}); sort by time", row)


def ascending_in_spans(times: Int64, spans: Int64) -> bool:
    """Whether times are ascending from spans[i, 0] up to spans[i, 1], for each i: int64[g, 2], none of them empty.

    Spans do not overlap. May return False for ascending times if the spans leave some times out. O(n).
    """
    begins = np.zeros(len(times) + 1, bool)
    begins[spans] = True
    return not ((times[1:] < times[:-1]) & ~begins[1:-1]).any()


def within(name: str, values: Array, low: float, high: float) -> None:
    """Raise unless every value is a number in [low, high]."""
    if len(values) <= FEW and all(low <= value <= high for value in values.tolist()):
        return
    bad = ~((values >= low) & (values <= high))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(name, f"must be a number from {low:g} to {high:g} (got {values[row].item()!r})", row)


def among(name: str, numbers: npt.ArrayLike, most: int, length: int) -> Int8:
    """int8[length], each from 0 to `most`. Raises InputError, naming the row, where one is not."""
    checked: Int8 = column(name, numbers, np.int8, length)
    wrong = (checked < 0) | (checked > most)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(name, f"must be from 0 to {most} (got {int(checked[row])})", row)
    return checked


def offsets_of(name: str, offsets: Int64, length: int) -> None:
    """Raise unless `offsets` cut an array of `length` values into consecutive lists, as Arrow's do."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != length:
        raise InputError(name, f"must begin with 0 and end with {length}, the number of values")
    if len(offsets) > 2 and (offsets[1:] < offsets[:-1]).any():
        raise InputError(name, "must be ascending", int((offsets[1:] < offsets[:-1]).argmax()) + 1)


def first_bad_span(starts: Int64, stops: Int64, least: int, most: int) -> int | None:
    """The first row without least <= starts[i] <= stops[i] <= most; None if there is none."""
    if len(starts) <= FEW:
        spans = zip(starts.tolist(), stops.tolist(), strict=True)
        return next((row for row, (start, stop) in enumerate(spans) if not least <= start <= stop <= most), None)
    wrong = (starts < least) | (stops < starts) | (stops > most)
    return int(wrong.argmax()) if wrong.any() else None


def read_only(array: Array) -> Array:
    """A read-only view, so that compiled code gets one type for arrays of Arrow, of a snapshot and others."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.setflags(write=False)
    return view
