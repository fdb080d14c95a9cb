"""The loops over rows and moments that Python calls, and answers since any moment."""

from typing import Any, NamedTuple

import numpy as np
from skyband.kernels.nested import kernel_njit, nested_njit

from skyband_quantiles.buckets.answering import answer, answer_raw, in_raw, pass_nodes, unknown_rows
from skyband_quantiles.buckets.compaction import DONE, MORE_PLACES, MORE_RAW, clear, drop_raw, step
from skyband_quantiles.buckets.history import (
    DUE,
    LAST,
    NODE_ROWS,
    NOTHING,
    PHASE,
    PLACED,
    RAW,
    RAW_START,
    SHIFT,
    STEP,
    TABLED,
)
from skyband_quantiles.buckets.places import count_row, fill_slots, first_slot, has_room
from skyband_quantiles.sketch_answers import Answers


@nested_njit
def _make_room(history: Any, oldest: int, most: int) -> bool:
    """Make room for a raw row at the end; False if the arrays are too small. If all rows are raw, drop expired ones."""
    numbers = history.numbers
    if not numbers[TABLED]:
        while numbers[RAW] and history.times[numbers[RAW_START]] < oldest:
            drop_raw(history)
    begin, rows = numbers[RAW_START], numbers[RAW]
    if 4 * begin < len(history.times) and len(history.times) < most:
        return False
    for row in range(rows):
        history.times[row], history.values[row] = history.times[begin + row], history.values[begin + row]
        history.places[row] = history.places[begin + row]
    numbers[RAW_START] = 0
    return rows < len(history.times)


@nested_njit
def _first_from(times: Any, row: int, stop: int, moment: int) -> Any:
    """The first of these rows at or after a moment."""
    while row < stop:
        half = (row + stop) >> 1
        if times[half] < moment:
            row = half + 1
        else:
            stop = half
    return row


@nested_njit
def _first_after_gap(times: Any, row: int, stop: int, longest: int) -> Any:
    """The first of these rows, except `row`, before which all earlier ones have expired."""
    if times[stop - 1] - longest <= times[row]:
        return stop
    row += 1
    while row < stop and times[row] - longest <= times[row - 1]:
        row += 1
    return row


@nested_njit
def _take(history: Any, times: Any, values: Any, keys: Any, row: int, stop: int, widest: int) -> Any:
    """Add rows, for which there is room among the raw ones; returns the first one without room for its place."""
    numbers = history.numbers
    end, begin = numbers[RAW_START] + numbers[RAW], row
    if not numbers[TABLED]:
        while row < stop:
            history.times[end], history.values[end] = times[row], values[row]
            end, row = end + 1, row + 1
    else:
        shift, slots, ids = numbers[SHIFT], history.slots, history.ids
        mask = len(slots) - 1
        while row < stop:
            value, wanted = values[row], keys[row] >> shift
            slot = first_slot(wanted, mask)
            place = np.int64(slots[slot])
            while place != NOTHING and ids[place] != wanted:
                slot = (slot + 1) & mask
                place = np.int64(slots[slot])
            if place == NOTHING:
                if not has_room(history):
                    break
                place = count_row(history, keys[row], value, widest)
                shift = numbers[SHIFT]
            else:
                history.total[place] += 1
                if value < history.least[place]:
                    history.least[place] = value
                if value > history.largest[place]:
                    history.largest[place] = value
            history.times[end], history.values[end], history.places[end] = times[row], value, place
            end, row = end + 1, row + 1
            numbers[PLACED] += 1
    numbers[RAW] += row - begin
    numbers[PHASE] += row - begin
    if row > begin:
        numbers[LAST] = times[row - 1]
    return row


class Questions(NamedTuple):
    """The questions to many sketches, for compiled code.

    moments: int64[m]; windows: int64[w]; parts, ascending: int64[q], quantiles in billionths and their order; limits:
    float64[a]
    """

    moments: Any
    windows: Any
    parts: Any
    ascending: Any
    limits: Any


@kernel_njit
def run(
    history: Any, bits: Any, columns: Any, row: int, last: int, questions: Questions, moment: int, end: int,
    raw_most: int, epsilon: float, longest: int, panes: Any, widest: int, cuts: Any, answers: Answers,
) -> Any:  # fmt: skip
    """Add rows up to `last` and answer moments up to `end`, from a row and a moment on.

    Returns the row and moment where it stops, and why. bits: the raw values of the history as int64; columns: times,
    values and keys of rows. Writes to `answers`.
    """
    times, values, keys = columns
    moments, windows, parts, ascending, limits = questions
    rows, found, shares = answers
    numbers = history.numbers
    while True:
        if numbers[DUE]:
            code = step(history, bits, raw_most, epsilon, longest, panes, widest, cuts)
            if code != DONE:
                return row, moment, code
            numbers[DUE] = 0
        at = moments[moment] if moment < end else np.int64(2**63 - 1)
        stop = _first_from(times, row, min(last, row + STEP - numbers[PHASE]), at)
        if row < stop:
            if numbers[RAW] and times[row] - longest > numbers[LAST]:
                clear(history)
            stop = _first_after_gap(times, row, stop, longest)
            if numbers[RAW_START] + numbers[RAW] == len(history.times):
                room = _make_room(history, times[row] - longest, raw_most + 2 * STEP)
                if not room:
                    return row, moment, MORE_RAW
            stop = min(stop, row + len(history.times) - numbers[RAW_START] - numbers[RAW])
            taken = _take(history, times, values, keys, row, stop, widest)
            if taken == row:
                return row, moment, MORE_PLACES
            row = taken
            if numbers[PHASE] == STEP:
                numbers[PHASE], numbers[DUE] = 0, 1
        elif moment < end:
            for window in range(len(windows)):
                rows[moment, window] = _answer(
                    history, window, at - windows[window], parts, ascending, limits, cuts,
                    found[moment, window], shares[moment, window],
                )  # fmt: skip
            moment += 1
        else:
            return row, moment, DONE


@nested_njit
def _answer(
    history: Any, window: int, since: int, parts: Any, ascending: Any, limits: Any, cuts: Any, found: Any, shares: Any
) -> Any:
    """Answer since a moment; returns the likely number of rows."""
    if in_raw(history, since):
        return answer_raw(history, since, parts, ascending, limits, found, shares)
    return answer(history, window, since, parts, limits, cuts, found, shares)


@kernel_njit
def ask(history: Any, since: int, parts: Any, ascending: Any, limits: Any, cuts: Any, found: Any, shares: Any) -> Any:
    """Answer since any moment; returns the likely number of rows."""
    return _answer(history, len(history.begun) - 1, since, parts, ascending, limits, cuts, found, shares)


@kernel_njit
def count(history: Any, since: int) -> Any:
    """(rows, low, high) since a moment at or before the last row."""
    window, numbers = len(history.begun) - 1, history.numbers
    if in_raw(history, since):
        begin, rows = numbers[RAW_START], 0
        for row in range(begin, begin + numbers[RAW]):
            rows += history.times[row] >= since
        return float(rows), float(rows), float(rows)
    pass_nodes(history, window, since)
    maybe, likely = unknown_rows(history, window, since, False)
    sure = numbers[RAW] + numbers[NODE_ROWS] - history.passed_rows[window] - maybe
    return float(sure + np.int64(likely)), float(sure), float(sure + maybe)


@kernel_njit
def find_places(history: Any) -> None:
    """Fill the empty slots."""
    fill_slots(history)
