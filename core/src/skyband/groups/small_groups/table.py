"""SmallGroupTable: a query's definition of its small groups: stored columns, the pass over all groups, promotion.

The framework (`skyband.operator.bound_query`) holds the groups, their entries, waiting rows and state: a table is the
same over windows in time and in rows.
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
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import RankedRowsOfGroups, Which, carried, carried_values
from skyband.columns.values_by_id import ValuesInUse
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
    """Answers all groups of a query with at most `most` entries by one pass; `kept` are the columns of an entry.

    Whether a group grows out of the table depends only on its rows: what no moment after a row needs is forgotten
    before entries are counted. Entries have a column `time`. If `named` is the type of ids that do not determine the
    values, rows have a column `name`, and rows and entries have the column that `identity` names.

    A column has a numpy type, or `pa.large_list(pa.int64())` for lists of any lengths such as the tokens of a set, or
    another Arrow type if it is only returned.
    """

    kept: ClassVar[Mapping[str, Kind]]
    """The columns of an entry."""
    taken: ClassVar[Mapping[str, Kind]]
    """The columns of rows that a pass reads."""
    identity: ClassVar[str] = "object"
    """The column of ids."""
    ranked_by: ClassVar[str | None] = None
    """The column of values, if the carried row of an object is identified by its value."""

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
        """at_once: rows do not wait for a moment, because a pass counts those that it drops.

        carry: columns of an answer from the row behind it; which: the row of an object that this is.
        """
        self.schedule = schedule
        self.most = most
        self.schema = answers
        self.at_once = at_once or not schedule.gapless
        self.names = None if named is None else ValuesInUse(named)
        """The values behind ids, if ids do not determine them."""
        self.carried_kinds = {carried(number): field.type for number, field in enumerate(carry)}
        self.rows_behind = RankedRowsOfGroups(carry, which) if carry else None
        """The rows that answers may carry columns from, if any."""

    @abstractmethod
    def run_pass(self, step: PassInput) -> PassResult:
        """Take in rows and answer moments, session by session."""

    @abstractmethod
    def processor(self, last: int, entries: Mapping[str, Column]) -> GroupProcessor:
        """A processor that continues from these entries, in order of time, with the last row at `last`: moments up to
        then are answered.
        """

    @abstractmethod
    def check_entries(self, state: StateReader, owners: Int64) -> None:
        """Raise SnapshotError if the entries of a state (int64[n]: the group of each) are invalid."""

    def entry_order(self, entries: Mapping[str, Column], owners: Int64) -> Int64 | None:  # noqa: ARG002
        """By group (owners: int64[n], the group of each entry), a canonical order of the entries in a state; None if a
        pass always leaves them in the same order.
        """
        return None

    def signed(self, values: Array) -> Array:
        """Values as entries store them, and back."""
        return values

    def rows_for_processor(self, rows: Rows) -> Rows:
        """Rows of a promoted group that a pass did not take in, in the form for its processor."""
        return rows

    def take_dropped(self) -> Mapping[str, int]:
        """As `GroupProcessor.take_dropped`."""
        return {}

    def start_from(self, since: Mapping[str, int]) -> None:  # noqa: B027 - most queries have no parts
        """As `GroupProcessor.start_from`, for windows in time."""

    def listen(self, broadcast: BroadcastState) -> None:  # noqa: ARG002
        """As `SmallGroups.listen`."""
        raise PluginError(f"{type(self).__name__} does not support a second table")

    # Moments. A query that answers at those of its schedule keeps these defaults.

    def due_moments(self, moments: Moments, latest: int | None) -> Moments:  # noqa: ARG002
        """The moments that must be answered; `latest`: the time of the last row of an input that has ended."""
        return moments

    def moments_of(
        self, sessions: Sessions, lasts: Int64, times: Int64, latest: int | None  # noqa: ARG002
    ) -> DueMoments:  # fmt: skip
        """The moments of all sessions, each with rows at some of `lasts` and `times` or before.

        lasts: times of the groups held; times: of rows to take in; latest: as in `due_moments`.
        """
        moments = self.due_moments(self.schedule.within(sessions.begin, sessions.end), latest)
        return DueMoments(moments, sessions.spans(moments))

    def starts(self, step: PassInput) -> Int64:
        """int64[m, w]: the start of each window of the moments."""
        return self.schedule.starts_at(step.moments.at)

    def first_due(self, time: int) -> int:
        """The first moment at which a row at `time` needs work."""
        return int(self.schedule.after(time))

    def next_due(self, lasts: Int64, until: int) -> int:
        """The next moment at which groups, with last rows at `lasts` and answered up to `until`, need work."""
        return self.schedule.next_due(lasts, until)

    def is_asked(self, groups: Iterable[UInt64], until: int) -> bool:  # noqa: ARG002
        """Whether a second table asks one of these groups for an answer up to `until`."""
        return False

    def last_moment(self, latest: int) -> int:
        """The last moment of an input whose last row is at `latest`."""
        return int(self.schedule.each_after(latest).max())

    def oldest(self, time: Any) -> Any:
        """Entries before this are not needed once rows and moments up to `time` (an int or int64[n]) are taken in."""
        return self.schedule.oldest(time)

    # Columns: those that rows provide to a pass, and those that answers carry.

    def taken_of(self, rows: Rows) -> dict[str, Column]:
        """The columns of rows that a pass reads."""
        return {name: column_ops.of_kind(rows[name], kind) for name, kind in self.taken.items()}

    def carry_of(self, keys: UInt64, times: Int64, rows: Rows) -> dict[str, Column]:
        """The carried columns of rows of these groups (uint64[n]) at these times, which answers may use from now on."""
        kinds = self.carried_kinds.values()
        behind = [carried_values(rows, number, kind) for number, kind in enumerate(kinds)]
        if self.rows_behind is not None:
            values = np.zeros(len(rows)) if self.ranked_by is None else rows[self.ranked_by]
            self.rows_behind.add(keys, times, rows[self.identity], values, behind)
        return dict(zip(self.carried_kinds, behind, strict=True))

    def values(self, ids: Int64) -> pa.Array:
        """The values behind ids, if ids do not determine them."""
        assert self.names is not None
        return self.names.lookup(ids)

    def columns_behind(
        self, step: PassInput, session: Int64, moment: Int64, ids: Int64, values: Array, since: Int64
    ) -> list[pa.Array]:
        """The carried columns of each row of the answers.

        session, moment, ids, values: int64[m] or float64[m], the session of each row, the number of its moment, its
        object and its value; since: int64[moments], the start of each window. O(n log n) for n rows held.
        """
        if self.rows_behind is None:
            return []
        at = step.moments.at[moment]
        answer, group = session * len(step.moments.at) + moment, step.sessions.key[session]
        return self.rows_behind.of_groups(answer, group, ids, values, since[moment], at)

    def twin(self) -> Self:
        """A copy that learns and forgets independently."""
        twin = copy(self)
        twin.names = None if self.names is None else self.names.copy()
        twin.rows_behind = None if self.rows_behind is None else self.rows_behind.copy()
        return twin
