"""The answers of many moments and windows, written one after the other as rows are added."""

from typing import Any, NamedTuple

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_totals.exact import candidates as bars
from skyband_totals.exact.bar import GRAND, OBJECTS
from skyband_totals.exact.ledger import RawAnswers


class Written(NamedTuple):
    """Answers so far, for compiled code.

    size:              int64[1], the number of answers
    offsets:           int64[a + 1] of answers
    objects, totals:   int64[room] each, by answer, in order
    grand, rest:       int64[a] each, the grand totals, and the largest totals of objects that are not in the answer
    object_counts:     int64[a], the number of objects with a total above 0
    """

    size: Any
    offsets: Any
    objects: Any
    totals: Any
    grand: Any
    rest: Any
    object_counts: Any


def room_for(answers: int, objects_in_all: int = 64) -> Written:
    """No answers yet, with room for this many, and for `objects_in_all` objects."""
    numbers = np.zeros(answers, np.int64), np.zeros(answers, np.int64), np.zeros(answers, np.int64)
    objects, totals = np.empty(objects_in_all, np.int64), np.empty(objects_in_all, np.int64)
    return Written(np.zeros(1, np.int64), np.zeros(answers + 1, np.int64), objects, totals, *numbers)


@nested_njit(forceinline=True)
def write(written: Any, hot: Any, candidates: Any, spans: Any, window: int, k: int, used: int, least: Any) -> bool:
    """Add the answer of a window, at most k of the `used` objects; False if `prepare` must be called first."""
    number = written.size[0]
    start = written.offsets[number]
    stop = end_of_next(written, k, used)
    if stop > len(written.totals):
        return False
    count, rest = bars.answer(
        hot, candidates, spans, window, k, least, written.totals[start:stop], written.objects[start:stop]
    )
    if count < 0:
        return False
    written.rest[number], written.grand[number] = rest, spans[window, GRAND]
    written.object_counts[number] = spans[window, OBJECTS]
    written.offsets[number + 1] = start + count
    written.size[0] = number + 1
    return True


@nested_njit
def end_of_next(written: Any, k: int, used: int) -> Any:
    """The end of the next answer, of at most k of the `used` objects; there may be no room for it."""
    return written.offsets[written.size[0]] + min(k, used)


def with_room(written: Any, stop: int) -> Any:
    """The answers, with twice the room that one ending at `stop` needs."""
    start = written.offsets[written.size[0]]
    objects, totals = np.empty(2 * stop, np.int64), np.empty(2 * stop, np.int64)
    objects[:start], totals[:start] = written.objects[:start], written.totals[:start]
    numbers = written.grand, written.rest, written.object_counts
    return Written(written.size, written.offsets, objects, totals, *numbers)


def cut(written: Written) -> RawAnswers:
    """All answers, without spare room."""
    stop = written.offsets[-1]
    numbers = written.grand, written.rest, written.object_counts
    return RawAnswers(written.offsets, written.objects[:stop], written.totals[:stop], *numbers)
