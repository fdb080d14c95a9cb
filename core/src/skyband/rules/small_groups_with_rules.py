"""A table of small groups that answers the moments of the rules in force, over everything it keeps."""

from collections.abc import Iterable

import numpy as np

from skyband.arrays import TIME_MIN, Int64, UInt64
from skyband.groups.broadcast_state import BroadcastState
from skyband.groups.small_groups.passes import DueMoments, PassInput
from skyband.groups.small_groups.sessions import Sessions
from skyband.groups.small_groups.table import SmallGroupTable
from skyband.rules.rule_moments import NO_MOMENTS, Moments
from skyband.rules.rule_rows import Limits
from skyband.rules.rules_in_force import Rules
from skyband.windows import schedule

_AT_ONCE = 1 << 20
"""About how many moments are processed together."""
_PART = 16
"""The share of groups, 1 in 16, that must be empty before a pass drops them, if no rule has a moment."""


class SmallGroupsWithRules(SmallGroupTable):
    """Base class, listed before the table class of a query. Each moment has one window, with its `k`.

    Its state does not contain the rules. Its schedule is `schedule_for_rules`, and it keeps what any window up to the
    longest may need. A pass costs O(m log m) for m moments of all groups, besides the table's own cost.
    """

    _rules = Rules((), Limits(0))

    def listen(self, broadcast: BroadcastState) -> None:
        assert isinstance(broadcast, Rules)
        self._rules = broadcast

    def starts(self, step: PassInput) -> Int64:
        return step.since[:, None]

    def first_due(self, time: int) -> int:
        """The rules know the moments; this is the time at which no window holds a row any more."""
        return int(self.schedule.empty_at(time))

    def next_due(self, lasts: Int64, until: int) -> int:  # noqa: ARG002 - the rules know the moments
        """The time at which enough groups are empty, without new rows, to make a pass that drops them worthwhile."""
        some = len(lasts) // _PART
        return int(self.schedule.empty_at(int(np.partition(lasts, some)[some])))

    def is_asked(self, groups: Iterable[UInt64], until: int) -> bool:
        return self._rules.next_at <= until and any(len(self._rules.due(keys, until)) for keys in groups)

    def last_moment(self, latest: int) -> int:
        return self._rules.last_moment(latest)

    def moments_of(self, sessions: Sessions, lasts: Int64, times: Int64, latest: int | None) -> DueMoments:
        """Moments for all groups are stored once. Sessions of groups with their own rules have a copy, with those."""
        begins = np.maximum(sessions.begin, self._rules.answered)
        ends = np.maximum(sessions.end, begins)
        self._rules.check_answers(times, int(ends.max(initial=TIME_MIN)))
        rows = np.sort(np.concatenate([lasts, times]))
        common = _common_moments(self._rules, begins, ends, rows)
        own, session = _own_moments(self._rules, sessions.key, begins, ends, rows)
        if latest is not None:
            common = self._rules.at_the_end(common, latest)
            inside = np.flatnonzero(own.at - self._rules.slides[own.rule] <= latest)
            own, session = _pick(own, inside), session[inside]
        first, last = (np.searchsorted(common.at, bounds, side="right") for bounds in (begins, ends))
        both = common
        if len(session):
            with_own = np.unique(session)
            count = (last - first)[with_own]
            copied = np.repeat(first[with_own] - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
            of = np.concatenate([np.repeat(with_own, count), session])
            every = _joined(_pick(common, copied), own)
            order = np.lexsort((every.rule, every.at, of))
            both = _joined(common, _pick(every, order))
            first[with_own], last[with_own] = (
                len(common.at) + np.searchsorted(of[order], with_own, side) for side in ("left", "right")
            )
        return DueMoments(schedule.Moments(both.at, both.rule), (first, last), both.since, both.k)


def _common_moments(rules: Rules, begins: Int64, ends: Int64, rows: Int64) -> Moments:
    """The moments of the rules for all groups in any of the spans (begin, end], in order of (at, rule)."""
    some = np.flatnonzero(ends > begins)
    begins, ends = schedule.united(begins[some], ends[some])
    common, parts = rules.for_all, [NO_MOMENTS]
    at_once = max(_AT_ONCE // max(len(common), 1), 1)
    for start in range(0, len(begins), at_once):
        begin, end = (np.repeat(bound[start : start + at_once], len(common)) for bound in (begins, ends))
        parts.append(_due(rules, np.tile(common, len(begins[start : start + at_once])), begin, end, rows)[0])
    moments = _joined(*parts)
    return _pick(moments, np.lexsort((moments.rule, moments.at)))


def _own_moments(rules: Rules, groups: UInt64, begins: Int64, ends: Int64, rows: Int64) -> tuple[Moments, Int64]:
    """The moments of rules for one of these groups, each within its group's span, and the place of each one's group."""
    place, rule = rules.own_of(groups)
    moments, number = _due(rules, rule, begins[place], ends[place], rows)
    return moments, place[number]


def _due(rules: Rules, each: Int64, begins: Int64, ends: Int64, rows: Int64) -> tuple[Moments, Int64]:
    """The moments of each of these rules in its span whose window holds a row, and the number of each one's rule.

    rows: int64[n], ascending: times of rows, one of which is before any moment. A bounded number is processed at once.
    """
    slides = rules.slides[each]
    most = np.maximum((ends - begins) // slides + 1, 0)
    pieces = -(-most // _AT_ONCE)
    number = np.repeat(np.arange(len(each)), pieces)
    piece = np.arange(len(number)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    step = np.where(pieces > 1, _AT_ONCE * np.where(pieces > 1, slides, 0), 0)[number]
    begin = begins[number] + piece * step
    end = np.where(piece + 1 < pieces[number], begin + step, ends[number])
    part = np.cumsum(np.minimum(most[number], _AT_ONCE)) // _AT_ONCE
    parts, numbers, count = [NO_MOMENTS], [np.empty(0, np.int64)], 0
    for places in np.split(np.arange(len(number)), np.flatnonzero(np.diff(part)) + 1):
        moments, own = rules.each(each[number[places]], begin[places], end[places])
        inside = np.flatnonzero(moments.since <= rows[np.searchsorted(rows, moments.at) - 1]) if len(own) else own
        schedule.check_count(count := count + len(inside), begins, ends)
        parts.append(_pick(moments, inside))
        numbers.append(number[places][own[inside]])
    return _joined(*parts), np.concatenate(numbers)


def _pick(moments: Moments, places: Int64) -> Moments:
    return Moments(*(column[places] for column in moments))


def _joined(*parts: Moments) -> Moments:
    return Moments(*map(np.concatenate, zip(*parts, strict=True)))
