"""A processor that answers the moments of the rules in force, over everything it keeps."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from skyband.arrays import TIME_MAX, TIME_MIN, Array, Int64
from skyband.columns.rows import Rows
from skyband.errors import SnapshotError
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.groups.broadcast_state import BroadcastState
from skyband.groups.windowed_processor import ScheduledProcessor
from skyband.rules.rule_moments import Moments
from skyband.rules.rule_rows import Limits
from skyband.rules.rules_in_force import Rules

_MOST_MOMENTS = 1 << 18
"""About how many moments are answered in one call."""


class AnsweringRules(ScheduledProcessor):
    """Takes in rows and answers the moments due in `Rules`, which is the operator's and shared by all groups.

    Its state does not contain the rules. Its schedule is `schedule_for_rules`, and it keeps what any window up to the
    longest may need.
    """

    _rules = Rules((), Limits(0))
    _group: int | None = None
    _latest: int | None = None
    """The last time of any group, if the input has ended."""
    _passed = TIME_MIN
    """The time up to which its moments were answered before it was created."""

    @abstractmethod
    def ask(self, times: Int64, rows: Rows, moments: Moments) -> None:
        """Take in rows, and store the answers of these moments, each from the rows before it."""

    def listen(self, broadcast: BroadcastState, group: int | None = None) -> None:
        assert isinstance(broadcast, Rules)
        self._rules, self._group = broadcast, group
        if self._last is not None:  # it continues from a small group's entries
            self._passed = self._last

    def start_from(self, since: Mapping[str, int]) -> None:
        """Ignored: rules answer over everything that is kept, whenever they arrived."""

    @property
    def next_at(self) -> int:
        """The time at which its longest window is empty; moments of rules give every group a turn anyway."""
        return TIME_MAX if self._last is None else int(self._schedule.empty_at(self._last))

    @property
    def latest_next_at(self) -> int:
        return int(self._schedule.empty_at(max(self._rules.answered, -(2**62)) - 1))

    def end(self, latest: int) -> int:
        return self._rules.last_moment(latest)

    def finish(self, rows: Rows, latest: int) -> ProcessorAnswers | None:
        self._latest = latest
        try:
            return self.advance(rows, self._rules.last_moment(latest))
        finally:
            self._latest = None

    def take(self, times: Int64, rows: Rows, until: int) -> None:
        begin = max(self._rules.answered, self._passed)
        if self._last is None and len(times):  # windows before its first row are empty
            begin = max(begin, int(times[0]))
        self._rules.check_answers(times, until, self._group)
        rate = self._rules.rate(self._group)
        start, span = 0, max(int(min(_MOST_MOMENTS / rate, 2.0**62)), 1) if rate else 2**62
        while begin < until:
            end = min(begin + span, until)
            stop = len(times) if end == until else int(np.searchsorted(times, end))
            self._ask(times[start:stop], rows.slice(start, stop), self._rules.moments(begin, end, self._group))
            begin, start = end, stop
        if start < len(times):
            self._ask(times[start:], rows.slice(start, len(times)), self._rules.moments(until, until, self._group))

    def clock(self) -> dict[str, Any]:
        """The position of the processor, for its `dump_state`."""
        return {"last": self._last}

    def set_clock(self, clock: Mapping[str, Any]) -> None:
        """Set the position. Raises SnapshotError if it is not a time."""
        last = clock.get("last")
        if last is not None and (type(last) is not int or not TIME_MIN < last < 2**62):
            raise SnapshotError(f"contradicts itself: a group cannot be at {dict(clock)!r:.200}")
        self._last = last

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Raises SnapshotError if its last row is not before the watermark, up to which everything is answered."""
        super().load_state(header, arrays)  # type: ignore[safe-super]
        if self._last is not None and self._last >= (answered := self._rules.answered):
            raise SnapshotError(
                f"contradicts itself: a group's last row is at {self._last}, the watermark at {answered}"
            )

    def _ask(self, times: Int64, rows: Rows, moments: Moments) -> None:
        if self._latest is not None:
            moments = self._rules.at_the_end(moments, self._latest)
        if len(times) + len(moments.at):
            self.ask(times, rows, moments)
