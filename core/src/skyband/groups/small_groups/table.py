"""What a query says of its small groups: what is kept of a row, how a pass over all of them goes, who goes on after it.

Which groups there are, their entries, the rows that wait and the state of all that is the frame's
(`skyband.operator.bound_query`): a table is the same over windows in time and in rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, UInt64
from skyband.columns import column_ops
from skyband.columns.column_ops import Column, Kind
from skyband.columns.ids import ValuesInUse
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import RankedRowsOfGroups, Which, carried, carried_values
from skyband.errors import PluginError
from skyband.groups.broadcast_state import BroadcastState
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.passes import DueMoments
from skyband.groups.small_groups.passes import PassInput as PassInput
from skyband.groups.small_groups.passes import PassResult as PassResult
from skyband.groups.small_groups.sessions import Sessions
from skyband.state_validation import StateReader
from skyband.windows.schedule import Moments, Schedule


class SmallGroupTable(ABC):
    """How a query answers all its groups of at most `most` entries by one pass, the columns of `kept` for each entry.

    Whether a group grows out of the table follows from its rows alone: what no moment after a row needs is forgotten
    before entries are counted. Entries have a column `time`; where `named` is the type of ids that do not tell the
    values, rows have a column `name`, and rows and entries the column that `identity` names.

    A column is of a numpy type, of `pa.large_list(pa.int64())`, lists of any lengths such as the tokens of a set, or of
    another Arrow type where it is only given back.
    """

    kept: ClassVar[Mapping[str, Kind]]
    """The columns of an entry."""
    taken: ClassVar[Mapping[str, Kind]]
    """The columns of rows that a pass reads."""
    identity: ClassVar[str] = "object"
    """The column of ids."""
    ranked_by: ClassVar[str | None] = None
    """The column of values, where an object's row is told by its value in what it carries."""

    def __init__(
        self,
        schedule: Schedule,
        most: int,
        answers: pa.Schema,
        named: pa.DataType | None = None,
        *,
        at_once: bool = False,
        carry: Sequence[pa.Field] = (),
        which: Which = "latest",
    ) -> None:
        """at_once: rows do not wait for a moment, where a pass counts those that it drops.

        carry: columns of an answer that come from the row behind it; which: the row of an object that this is.
        """
        self.schedule = schedule
        self.most = most
        self.schema = answers
        self.at_once = at_once or not schedule.gapless
        self.names = None if named is None else ValuesInUse(named)
        """The values behind ids, where ids do not tell them."""
        self.carried_kinds = {carried(number): field.type for number, field in enumerate(carry)}
        self.rows_behind = RankedRowsOfGroups(carry, which) if carry else None
        """The rows that an answer may come from, where more is asked of them."""

    @abstractmethod
    def run_pass(self, step: PassInput) -> PassResult:
        """Take in rows and answer moments, session by session."""

    @abstractmethod
    def processor(self, last: int, entries: Mapping[str, Column]) -> GroupProcessor:
        """One that goes on from these entries, in order of time, the last row at `last`: its moments up to then are
        answered.
        """

    @abstractmethod
    def check_entries(self, state: StateReader, owners: Int64) -> None:
        """Raise SnapshotError where the entries of a state (int64[n]: the group of each) cannot be."""

    def entry_order(self, entries: Mapping[str, Column], owners: Int64) -> Int64 | None:  # noqa: ARG002
        """By group (owners: int64[n], that of each entry), the order of the entries in a state, where a pass does not
        always leave them in the same.
        """
        return None

    def signed(self, values: Array) -> Array:
        """Values as entries have them, and back."""
        return values

    def rows_for_processor(self, rows: Rows) -> Rows:
        """Rows that a pass did not take in of a group that grew, as its processor takes them."""
        return rows

    def take_dropped(self) -> Mapping[str, int]:
        """As `GroupProcessor.take_dropped`."""
        return {}

    def start_from(self, since: Mapping[str, int]) -> None:  # noqa: B027 - most queries have no parts
        """As `GroupProcessor.start_from`, where windows are in time."""

    def listen(self, broadcast: BroadcastState) -> None:  # noqa: ARG002
        """As `SmallGroups.listen`."""
        raise PluginError(f"{type(self).__name__} answers to no second table")

    # Moments: when there is something to do, and what. A query that answers at those of its schedule leaves them.

    def due_moments(self, moments: Moments, latest: int | None) -> Moments:  # noqa: ARG002
        """Those of the moments that are to be answered; `latest`: where an input that has ended had its last row."""
        return moments

    def moments_of(
        self, sessions: Sessions, lasts: Int64, times: Int64, latest: int | None  # noqa: ARG002
    ) -> DueMoments:  # fmt: skip
        """The moments of all sessions, each with rows at some of `lasts` and `times` or before.

        lasts: of the groups held; times: of rows to take in; latest: as in `due_moments`.
        """
        moments = self.due_moments(self.schedule.within(sessions.begin, sessions.end), latest)
        return DueMoments(moments, sessions.spans(moments))

    def starts(self, step: PassInput) -> Int64:
        """int64[m, w]: where each window of the moments begins."""
        return self.schedule.starts_at(step.moments.at)

    def first_due(self, time: int) -> int:
        """When a row at `time` has something to do."""
        return int(self.schedule.after(time))

    def next_due(self, lasts: Int64, until: int) -> int:
        """When groups, at least one, with their last rows at `lasts`, answered up to `until`, have something to do."""
        return self.schedule.next_due(lasts, until)

    def is_asked(self, groups: Iterable[UInt64], until: int) -> bool:  # noqa: ARG002
        """Whether a second table asks one of these groups something at a moment at most `until`."""
        return False

    def last_moment(self, latest: int) -> int:
        """The last moment that an input has whose last row is at `latest`."""
        return int(self.schedule.each_after(latest).max())

    def oldest(self, time: Any) -> Any:
        """Entries before this are not needed once rows and moments up to `time` (an int or int64[n]) are taken in."""
        return self.schedule.oldest(time)

    # Columns: what rows bring to a pass, and what answers have of the rows behind them.

    def taken_of(self, rows: Rows) -> dict[str, Column]:
        """The columns of rows that a pass reads."""
        return {name: column_ops.of_kind(rows[name], kind) for name, kind in self.taken.items()}

    def carry_of(self, keys: UInt64, times: Int64, rows: Rows) -> dict[str, Column]:
        """The columns to carry of rows of these groups (uint64[n]) at these times, which answers may be of from now."""
        kinds = self.carried_kinds.values()
        behind = [carried_values(rows, number, kind) for number, kind in enumerate(kinds)]
        if self.rows_behind is not None:
            values = np.zeros(len(rows)) if self.ranked_by is None else rows[self.ranked_by]
            self.rows_behind.add(keys, times, rows[self.identity], values, behind)
        return dict(zip(self.carried_kinds, behind, strict=True))

    def values(self, ids: Int64) -> pa.Array:
        """The values behind ids, where ids do not tell them."""
        assert self.names is not None
        return self.names.lookup(ids)

    def columns_behind(
        self, step: PassInput, session: Int64, moment: Int64, ids: Int64, values: Array, since: Int64
    ) -> list[pa.Array]:
        """The columns to carry of each row of the answers.

        session, moment, ids, values: int64[m] or float64[m], of each row its session, the number of its moment, its
        object and its value; since: int64[moments], where the window of each begins. O(n log n) for n rows held.
        """
        if self.rows_behind is None:
            return []
        at = step.moments.at[moment]
        answer, group = session * len(step.moments.at) + moment, step.sessions.key[session]
        return self.rows_behind.of_groups(answer, group, ids, values, since[moment], at)

    def twin(self) -> Self:
        """Another that knows the same, and learns and forgets for itself."""
        twin = copy(self)
        twin.names = None if self.names is None else self.names.copy()
        twin.rows_behind = None if self.rows_behind is None else self.rows_behind.copy()
        return twin
