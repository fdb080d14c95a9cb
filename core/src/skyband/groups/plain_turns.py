"""Turns of many groups in which no session ends: what is due is looked up for all of them at once."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from skyband.arrays import TIME_MAX, TIME_MIN, Int64
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.windows.schedule import Regular

_FEW = 8
"""So few are quicker looked at one by one."""

NO_MOMENTS = np.empty(0, np.int64)


class PlainTurn(NamedTuple):
    """What a group's turn brings beside its rows, where its session goes on."""

    due: Int64
    """The moments to answer."""
    last: int
    """The time of the session's last row, those of this turn among them."""
    following: int
    """The first moment that is not due yet."""


class AnswersOfTurns(NamedTuple):
    """What several groups answer that have their turns together, one group after the other."""

    pieces: Sequence[ProcessorAnswers]
    """None of them empty. One may be of many groups."""
    counts: Sequence[int]
    """Of each group how many rows are its."""

    @classmethod
    def of(cls, answers: Sequence[ProcessorAnswers | None]) -> Self:
        """Those that each group gave by itself."""
        counts = [0 if own is None else len(own) for own in answers]
        return cls([own for own in answers if own is not None and len(own)], counts)


def plain_turns(processors: Sequence[Any], times: Int64, spans: Int64, until: int) -> Sequence[PlainTurn | None]:
    """Of each GroupProcessor its turn up to a watermark, its rows being times[start:stop] (spans: int64[g, 2]).

    None where its session begins or ends, or its class does not look turns up together: `advance` looks for itself.
    """
    if len(processors) < _FEW:
        return [None] * len(processors)
    turns: Sequence[PlainTurn | None] = type(processors[0]).plain_turns(processors, times, spans, until)
    return turns


def regular_turns(
    schedule: Regular, before: Int64, following: Int64, times: Int64, spans: Int64, until: int
) -> Sequence[PlainTurn | None]:
    """As `plain_turns`, of groups that answer at regular moments.

    before, following: of each group the time of its last row, TIME_MIN for none, and the next moment, TIME_MAX for
    none. O(g), with calls of numpy for all together.
    """
    last, some = before.copy(), spans[:, 1] > spans[:, 0]
    last[some] = times[spans[some, 1] - 1]
    begun = (before > TIME_MIN) & (following < TIME_MAX)
    before[~begun] = last[~begun] = 0  # whatever: so that no sum is beyond 64 bits
    plain = begun & (last - before <= schedule.horizon) & (schedule.empty_at(last) > until)
    due: dict[int, tuple[Int64, int]] = {}
    for moment in np.unique(following[plain]).tolist():
        moments = schedule.between(moment - 1, until) if moment <= until else NO_MOMENTS
        due[moment] = moments, int(schedule.after(moments[-1])) if len(moments) else moment
    return [
        PlainTurn(due[moment][0], time, due[moment][1]) if goes_on else None
        for goes_on, time, moment in zip(plain.tolist(), last.tolist(), following.tolist(), strict=True)
    ]
