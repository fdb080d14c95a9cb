"""Takes in and forgets the reports of a small top-k group, in compiled code.

They are ordered by object and stream, and in one cell (object and stream) by arrival, in four arrays: objects, streams,
times and values.
"""

from typing import Any

import numpy as np
from numba import njit
from skyband.groups.small_groups.kernels import SHORT, copy_entries
from skyband.kernels.nested import nested_njit
from skyband.kernels.sorting import sort_places

LATEST, LARGEST, SMALLEST, MEAN, SUM, NEVER = range(6)
"""What counts if an object reports again; SUM and NEVER are promises of at most some reports, which are summed."""


@nested_njit(vectorized=True)
def _make_room(values: Any, place: int, stop: int) -> None:
    """Move the values place..stop up by one."""
    for behind in range(stop - place):
        values[stop - behind] = values[stop - behind - 1]


@nested_njit
def cell_end(object_: Any, stream: Any, first: int, stop: int, new_object: Any, new_stream: Any) -> int:
    """The end of a cell's reports, or where it would be, among the reports first..stop. O(log reports)."""
    while first < stop:
        middle = (first + stop) // 2
        middle_cell = object_[middle]
        if middle_cell < new_object or (middle_cell == new_object and stream[middle] <= new_stream):
            first = middle + 1
        else:
            stop = middle
    return first


@njit(inline="always")
def _superseded(value: Any, later: Any, repeats: int) -> Any:
    """Whether a report can never count again after this later one of its cell."""
    if repeats == LATEST:
        return True
    return value <= later if repeats == LARGEST else repeats == SMALLEST and value >= later


@nested_njit
def _breaks_promise(
    object_: Any, stream: Any, time: Any, first: int, end: int, row: Any, repeats: int, most: int, before: Any
) -> bool:
    """Whether a report is one too many for its cell, which ends at `end`; reports before `before` are forgotten."""
    new_object, new_stream = row
    place = end
    if repeats == SUM:
        number = 0
        while place > first and object_[place - 1] == new_object and stream[place - 1] == new_stream:
            place -= 1
            number += time[place] >= before
        return number >= most
    return bool(end > first and object_[end - 1] == new_object and stream[end - 1] == new_stream)


@nested_njit
def _forget_object(
    object_: Any, stream: Any, time: Any, value: Any, first: int, stop: int, owner: Any, before: Any
) -> int:
    """Forget the reports of an object among first..stop if all are before; returns the new end."""
    begin = cell_end(object_, stream, first, stop, owner, np.int32(-1))
    end = begin
    while end < stop and object_[end] == owner:
        if time[end] >= before:
            return stop
        end += 1
    gone = end - begin
    if gone:
        for entry in range(end, stop):
            object_[entry - gone], stream[entry - gone] = object_[entry], stream[entry]
            time[entry - gone], value[entry - gone] = time[entry], value[entry]
    return stop - gone


@nested_njit
def take_report(
    object_: Any, stream: Any, time: Any, value: Any, first: int, stop: int, row: Any,
    repeats: int, occurrences: int, stays: bool, window: int,
) -> tuple[int, int]:  # fmt: skip
    """Take in a row (object, stream, time, value) among the reports first..stop, which may grow by one.

    Returns the new end, and 1 if the row breaks a promise, else 0. stays: whether a report may count again although a
    later one of its cell is better. O(reports).
    """
    new_object, new_stream, new_time, new = row
    # A promise covers one window length: earlier reports do not count against it.
    before = new_time - window + 1
    if repeats == NEVER:
        stop = _forget_object(object_, stream, time, value, first, stop, new_object, before)
    end = cell_end(object_, stream, first, stop, new_object, new_stream)
    if repeats in (SUM, NEVER) and _breaks_promise(
        object_, stream, time, first, end, (new_object, new_stream), repeats, occurrences, before
    ):
        return stop, 1
    # Drop earlier reports of the cell that this one supersedes: it replaces begin..end.
    begin = end
    while begin > first and object_[begin - 1] == new_object and stream[begin - 1] == new_stream:
        if stays or not _superseded(value[begin - 1], new, repeats):
            break
        begin -= 1
    shift = begin + 1 - end  # 1: no report is dropped
    if shift > 0 and stop - end < SHORT:
        for entry in range(stop - 1, end - 1, -1):
            object_[entry + 1], stream[entry + 1] = object_[entry], stream[entry]
            time[entry + 1], value[entry + 1] = time[entry], value[entry]
    elif shift > 0:
        _make_room(object_, end, stop)
        _make_room(stream, end, stop)
        _make_room(time, end, stop)
        _make_room(value, end, stop)
    elif shift < 0:
        for entry in range(end, stop):
            object_[entry + shift], stream[entry + shift] = object_[entry], stream[entry]
            time[entry + shift], value[entry + shift] = time[entry], value[entry]
    object_[begin], stream[begin], time[begin], value[begin] = new_object, new_stream, new_time, new
    return stop + shift, 0


@nested_njit
def merge_reports(
    reports: Any, target: int, source: Any, first: int, size: int, rows: Any, start: int, stop: int,
    repeats: int, occurrences: int, stays: bool, window: int,
) -> tuple[int, int]:  # fmt: skip
    """`take_report` for the rows start..stop (objects, streams, times, values), none of which breaks a promise.

    source, first, size: other arrays with the reports so far, and their place; results are written from `target` on.
    O(reports + n log n) for n rows, object by object, as objects are independent.
    """
    objects, streams, times, values = rows
    object_, stream, time, value = reports
    end, repeated, place = first + size, 0, 0
    order = sort_places(objects, np.arange(start, stop))
    while place < len(order):
        owner = objects[order[place]]
        begin = cell_end(source[0], source[1], first, end, owner, np.int32(-1))
        after = begin
        while after < end and source[0][after] == owner:
            after += 1
        copy_entries(source, first, reports, target, after - first)
        own = target + begin - first
        target += after - first
        first = after
        while place < len(order) and objects[order[place]] == owner:
            row = order[place]
            new = (owner, streams[row], times[row], values[row] + 0.0)
            target, broken = take_report(
                object_, stream, time, value, own, target, new, repeats, occurrences, stays, window
            )
            repeated += broken
            place += 1
    copy_entries(source, first, reports, target, end - first)
    return target + end - first, repeated


@nested_njit
def forget_reports(
    object_: Any, stream: Any, time: Any, value: Any, first: int, stop: int, before: Any, repeats: int
) -> int:
    """Keep those of the reports first..stop that are not before, for NEVER with all reports of their objects.

    Returns the new end. O(reports).
    """
    entry = first
    while entry < stop and time[entry] >= before:
        entry += 1
    if repeats == NEVER:
        return _forget_objects(object_, stream, time, value, first, stop, before) if entry < stop else stop
    target = entry
    while entry < stop:  # without a branch: the reports to drop are practically random
        object_[target], stream[target], time[target], value[target] = (
            object_[entry],
            stream[entry],
            time[entry],
            value[entry],
        )
        target += time[entry] >= before
        entry += 1
    return target


@nested_njit
def _forget_objects(object_: Any, stream: Any, time: Any, value: Any, first: int, stop: int, before: Any) -> int:
    target, entry = first, first
    while entry < stop:
        end, newest = entry + 1, time[entry]
        while end < stop and object_[end] == object_[entry]:
            newest = max(newest, time[end])
            end += 1
        for place in range(entry, end):
            if newest >= before:
                object_[target], stream[target] = object_[place], stream[place]
                time[target], value[target] = time[place], value[place]
                target += 1
        entry = end
    return target
