"""Answers of many moments and windows, written one after the other while the rows pass."""

from typing import Any, NamedTuple

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_totals.exact import candidates as bars
from skyband_totals.exact.bar import GRAND, OBJECTS
from skyband_totals.exact.ledger import RawAnswers


class Written(NamedTuple):
    """Answers so far, for compiled code.

    done:            int64[1], how many
    offsets:         int64[a + 1] of answers
    objects, totals: int64[room] each, by answer, in order
    grand, rest:     int64[a] each, the grand totals, and the largest totals of what is in no answer
    some:            int64[a], how many objects have a total above 0
    """

    done: Any
    offsets: Any
    objects: Any
    totals: Any
    grand: Any
    rest: Any
    some: Any


def room_for(answers: int, objects_in_all: int = 64) -> Written:
    """None yet, of so many, with room for so many objects."""
    numbers = np.zeros(answers, np.int64), np.zeros(answers, np.int64), np.zeros(answers, np.int64)
    objects, totals = np.empty(objects_in_all, np.int64), np.empty(objects_in_all, np.int64)
    return Written(np.zeros(1, np.int64), np.zeros(answers + 1, np.int64), objects, totals, *numbers)


@nested_njit(forceinline=True)
def write(written: Any, hot: Any, candidates: Any, spans: Any, window: int, k: int, used: int, least: Any) -> bool:
    """Add the answer of a window, of at most k of the `used` objects; False where `prepare` has to be called before."""
    number = written.done[0]
    start = written.offsets[number]
    stop = end_of_next(written, k, used)
    if stop > len(written.totals):
        return False
    kept, rest = bars.answer(
        hot, candidates, spans, window, k, least, written.totals[start:stop], written.objects[start:stop]
    )
    if kept < 0:
        return False
    written.rest[number], written.grand[number] = rest, spans[window, GRAND]
    written.some[number] = spans[window, OBJECTS]
    written.offsets[number + 1] = start + kept
    written.done[0] = number + 1
    return True


@nested_njit
def end_of_next(written: Any, k: int, used: int) -> Any:
    """Where the next answer ends, of at most k of the `used` objects; there may be no room for it."""
    return written.offsets[written.done[0]] + min(k, used)


def with_room(written: Any, stop: int) -> Any:
    """The answers, with room for one that ends here and more."""
    start = written.offsets[written.done[0]]
    objects, totals = np.empty(2 * stop, np.int64), np.empty(2 * stop, np.int64)
    objects[:start], totals[:start] = written.objects[:start], written.totals[:start]
    return Written(written.done, written.offsets, objects, totals, written.grand, written.rest, written.some)


def cut(written: Written) -> RawAnswers:
    """All answers, without the room that was left."""
    stop = written.offsets[-1]
    numbers = written.grand, written.rest, written.some
    return RawAnswers(written.offsets, written.objects[:stop], written.totals[:stop], *numbers)
