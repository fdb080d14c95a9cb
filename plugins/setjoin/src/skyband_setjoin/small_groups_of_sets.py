"""Small groups of sets: the sets in each group's window, with their ids and tokens."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int8, Int64, read_only
from skyband.columns import column_ops
from skyband.columns.column_ops import Column
from skyband.columns.ids import id_values
from skyband.columns.integer_ids import is_integer_id
from skyband.columns.rows import Rows
from skyband.groups.small_groups.table import PassInput, PassResult, SmallGroupTable
from skyband.state_validation import StateReader
from skyband.windows.schedule import Schedule

from skyband_setjoin.small_groups_of_sets_kernels import PlacedSets, distinct_tokens
from skyband_setjoin.tokens import sets_of

MOST_SETS, MOST_TOKENS = 64, 4096
"""The most sets in a small group, all pairs of which are compared, and the most tokens in total."""

TOKENS = pa.large_list(pa.int64())


class SetsInOrder(NamedTuple):
    """The sets held and the rows of a step, and their places, session by session in order of arrival.

    order[heads:rows] are a session's sets held, and order[rows:stops] its rows.
    """

    heads: Int64
    rows: Int64
    stops: Int64
    order: Int64
    """int64[n]: the number of the set at each place."""
    times: Int64
    ids: Int64
    sides: Int8
    offsets: Int64
    tokens: Int64
    """Set i has tokens[offsets[i]:offsets[i + 1]], ascending and distinct."""
    columns: Mapping[str, Column]
    """All columns, one row per set."""

    def placed(self, step: PassInput) -> PlacedSets:
        """The columns for a kernel."""
        return PlacedSets(
            self.heads, self.rows, self.stops, self.order, self.times, self.sides, self.offsets, self.tokens,
            step.sessions.ended, step.oldest,
        )  # fmt: skip

    def carried(self, name: str, sets: Int64) -> pa.Array:
        """A carried column of the sets with these numbers."""
        return self.columns[name].take(pa.array(sets))


class SmallSets(SmallGroupTable):
    """Groups of at most `most` sets with at most 4096 tokens: 20 bytes per set and 8 per token."""

    identity: ClassVar[str] = "code"

    def __init__(
        self,
        schedule: Schedule,
        most: int,
        answers: pa.Schema,
        kind: pa.DataType,
        *,
        two: bool,
        at_once: bool = False,
        carry: Mapping[str, pa.DataType] | None = None,
        carry_now: Mapping[str, pa.DataType] | None = None,
    ) -> None:
        """kind: the type of ids. two: whether two streams are joined.

        carry: columns of a set to return in answers; carry_now: columns only in the answer to the set itself.
        """
        sides = {"side": np.int8} if two else {}
        columns = {**sides, "tokens": TOKENS, **(carry or {})}
        self.taken = {"code": np.int64, **columns, **(carry_now or {})}  # type: ignore[misc]
        self.kept = {"code": np.int64, "time": np.int64, **columns}  # type: ignore[misc]
        self.two = two
        self.most_tokens = MOST_TOKENS
        self._kind = kind
        named = None if is_integer_id(kind) else kind
        super().__init__(schedule, min(most, MOST_SETS), answers, named, at_once=at_once)

    @abstractmethod
    def compare(
        self, step: PassInput, sets: SetsInOrder
    ) -> tuple[Int64, Int64, Array, Int64, Sequence[Array | pa.Array]]:
        """Process the sessions. Returns, for each, the number of sets kept and the place of the first row not taken in
        (-1: none); bool[n], which places are kept; the session of each row of the answers; and the answers' columns.
        """

    def run_pass(self, step: PassInput) -> PassResult:
        offsets, tokens = distinct_tokens(*map(read_only, sets_of(step.rows["tokens"])))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(tokens))
        rows = {**step.rows, "time": step.times, "tokens": lists}
        columns = {name: column_ops.joined([entries, rows[name]]) for name, entries in step.entries.items()}
        sets = _in_order(step, columns)
        size, full_at, kept, session, answers = self.compare(step, sets)
        first_row = np.where(full_at < 0, -1, step.sessions.start + full_at - sets.rows)
        survivors = sets.order[kept]
        entries = {name: column_ops.pick(column, survivors) for name, column in columns.items()}
        return PassResult(size, entries, first_row, session, answers)

    def id_column(self, ids: Int64) -> pa.Array:
        """The values behind ids."""
        if self.names is not None:
            return self.values(ids)
        return id_values(Rows(ids, {"code": ids}), self._kind)

    def rows_of(self, entries: Mapping[str, Column]) -> Rows:
        """Convert entries to rows for a processor."""
        columns: dict[str, Any] = {name: column for name, column in entries.items() if name != "time"}
        if self.names is not None:
            columns["name"] = self.values(entries["code"])
        return Rows(entries["time"], columns)

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        times = state.column("time", np.int64, len(owners))
        state.require(
            not ((times[1:] < times[:-1]) & (owners[1:] == owners[:-1])).any(),
            "time",
            "must be ascending in each group",
        )
        if self.two:
            state.column("side", np.int8, len(owners), at_least=0, at_most=1)
        sizes = state.column("tokens sizes", np.int32, len(owners), at_least=0)
        of_group = np.bincount(owners, sizes, minlength=1)
        most = f"must be at most {self.most_tokens} per group"
        state.require(int(of_group.max(initial=0)) <= self.most_tokens, "tokens sizes", most)
        tokens, owner = state.column("tokens", np.int64), np.repeat(np.arange(len(sizes)), sizes)
        repeated = (tokens[1:] <= tokens[:-1]) & (owner[1:] == owner[:-1])
        state.require(not repeated.any(), "tokens", "must be ascending within a set")


def _in_order(step: PassInput, columns: Mapping[str, Column]) -> SetsInOrder:
    sessions = step.sessions
    size, rows = sessions.size, sessions.stop - sessions.start
    both = np.cumsum(size + rows)
    begins = both - size - rows
    number = int(size.sum())
    order = np.empty(number + len(step.times), np.int64)
    order[np.arange(number) + np.repeat(np.cumsum(rows) - rows, size)] = np.arange(number)
    order[np.arange(len(step.times)) + np.repeat(np.cumsum(size), rows)] = np.arange(number, len(order))
    offsets, tokens = map(read_only, sets_of(columns["tokens"]))
    sides = columns["side"] if "side" in columns else np.zeros(len(order), np.int8)
    return SetsInOrder(
        begins, begins + size, both, order, columns["time"], columns["code"], sides, offsets, tokens, columns
    )
