"""Turns of many groups in which no session ends: what is due is looked up for all of them at once."""

from collections.abc import Sequence
from functools import cache
from typing import cast

import numpy as np

from skyband.arrays import TIME_MAX, TIME_MIN, Int64
from skyband.groups.processor import DueMomentsProcessor, GroupProcessor, PlainTurn
from skyband.windows.schedule import Regular

_FEW = 8
"""So few are quicker looked at one by one."""

_SKIPPED = ("advance", "_walk", "rows_in_session", "take", "due", "moment_after")
"""Methods that a plain turn does without."""


def plain_turns(
    processors: Sequence[GroupProcessor], times: Int64, spans: Int64, until: int
) -> Sequence[PlainTurn | None]:
    """Of each processor its turn up to the watermark `until`, its rows being times[start:stop] (spans: int64[g, 2]).

    None where its session begins or ends, or it does not answer at regular moments: `advance` looks for itself then.
    O(g), with calls of numpy for all together.
    """
    first = processors[0]
    if len(processors) < _FEW or not _has_plain_turns(type(first)) or not _is_regular(cast(DueMomentsProcessor, first)):
        return [None] * len(processors)
    regular = cast(Sequence[DueMomentsProcessor], processors)
    schedule = regular[0]._schedule
    before = np.array([TIME_MIN if one._last is None else one._last for one in regular], np.int64)
    following = np.array([one._next for one in regular], np.int64)
    last, some = before.copy(), spans[:, 1] > spans[:, 0]
    last[some] = times[spans[some, 1] - 1]
    begun = (before > TIME_MIN) & (following < TIME_MAX)
    before[~begun] = last[~begun] = 0  # whatever: so that no sum is beyond 64 bits
    plain = begun & (last - before <= schedule.horizon) & (schedule.empty_at(last) > until)
    due: dict[int, tuple[Int64, int]] = {}
    for moment in np.unique(following[plain]).tolist():
        moments = schedule.between(moment - 1, until) if moment <= until else _NONE
        due[moment] = moments, int(schedule.after(moments[-1])) if len(moments) else moment
    return [
        PlainTurn(due[moment][0], time, due[moment][1]) if goes_on else None
        for goes_on, time, moment in zip(plain.tolist(), last.tolist(), following.tolist(), strict=True)
    ]


_NONE = np.empty(0, np.int64)


@cache
def _has_plain_turns(kind: type[GroupProcessor]) -> bool:
    return issubclass(kind, DueMomentsProcessor) and all(
        getattr(kind, name) is getattr(DueMomentsProcessor, name) for name in _SKIPPED
    )


def _is_regular(processor: DueMomentsProcessor) -> bool:
    return not processor._rows and type(processor._schedule) is Regular
