"""Turns of many groups in which no session ends: the moments due are computed for all of them at once."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from skyband.arrays import TIME_MAX, TIME_MIN, Int64
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.windows.schedule import Regular

_FEW = 8
"""Fewer groups than this are faster one by one."""

NO_MOMENTS = np.empty(0, np.int64)


class PlainTurn(NamedTuple):
    """The parameters of a group's turn, besides its rows, if its session continues."""

    due: Int64
    """The moments to answer."""
    last: int
    """The time of the session's last row, including those of this turn."""
    following: int
    """The first moment that is not due yet."""


class AnswersOfTurns(NamedTuple):
    """The answers of several groups whose turns are taken together, group by group."""

    pieces: Sequence[ProcessorAnswers]
    """Non-empty answers; one may contain several groups."""
    counts: Sequence[int]
    """The number of rows of each group."""

    @classmethod
    def of(cls, answers: Sequence[ProcessorAnswers | None]) -> Self:
        """Made from the answers of each group."""
        counts = [0 if own is None else len(own) for own in answers]
        return cls([own for own in answers if own is not None and len(own)], counts)


def plain_turns(processors: Sequence[Any], times: Int64, spans: Int64, until: int) -> Sequence[PlainTurn | None]:
    """The turn of each GroupProcessor up to a watermark, with rows times[start:stop] (spans: int64[g, 2]).

    None if its session begins or ends, or its class does not plan turns together: `advance` then does it alone.
    """
    if len(processors) < _FEW:
        return [None] * len(processors)
    turns: Sequence[PlainTurn | None] = type(processors[0]).plain_turns(processors, times, spans, until)
    return turns


def regular_turns(
    schedule: Regular, before: Int64, following: Int64, times: Int64, spans: Int64, until: int
) -> Sequence[PlainTurn | None]:
    """As `plain_turns`, for groups that answer at regular moments.

    before, following: the time of each group's last row, TIME_MIN for none, and its next moment, TIME_MAX for
    none. O(g), with numpy calls for all groups together.
    """
    last, some = before.copy(), spans[:, 1] > spans[:, 0]
    last[some] = times[spans[some, 1] - 1]
    begun = (before > TIME_MIN) & (following < TIME_MAX)
    before[~begun] = last[~begun] = 0  # any value that keeps sums within 64 bits
    plain = begun & (last - before <= schedule.horizon) & (schedule.empty_at(last) > until)
    due: dict[int, tuple[Int64, int]] = {}
    for moment in np.unique(following[plain]).tolist():
        moments = schedule.between(moment - 1, until) if moment <= until else NO_MOMENTS
        due[moment] = moments, int(schedule.after(moments[-1])) if len(moments) else moment
    return [
        PlainTurn(due[moment][0], time, due[moment][1]) if goes_on else None
        for goes_on, time, moment in zip(plain.tolist(), last.tolist(), following.tolist(), strict=True)
    ]
