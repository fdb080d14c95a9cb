"""The execution of a query: a processor per group, small groups together, and merging of the answers of shards."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
import pyarrow as pa

from skyband.arrays import Int64
from skyband.errors import ConfigError, Problem
from skyband.groups.partitioning import Partitioning, by_hash
from skyband.groups.processor import GroupProcessor
from skyband.queries.query import Query
from skyband.registry import Binding
from skyband.registry.module_import import check_class, load_class
from skyband.windows.schedule import Schedule

if TYPE_CHECKING:
    from skyband.groups.broadcast_state import BroadcastState, RefusedRows
    from skyband.groups.small_groups.host import SmallGroups
    from skyband.groups.small_groups.table import SmallGroupTable
    from skyband.states.state import State

Q = TypeVar("Q", bound=Query)


class Execution(ABC, Generic[Q]):
    """The second half of a query: `Query.answered_by` names its class, which is imported when a query first runs.

    So queries can be read, checked and described without loading the code that answers them.
    """

    merges: ClassVar[str | None] = None
    """The role whose backends can merge; if they do, states of two shards without `by` can be merged."""

    schema: pa.Schema | None = None
    """That of the source, for `processor` and `small_groups`; None in a query that is not bound to one."""

    def __init__(self, query: Q) -> None:
        self.query = query

    @abstractmethod
    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        """A new processor of a group; `answers` is the schema of its answers, of `answer_fields` or `shard_fields`."""

    def small_groups(
        self, bindings: Mapping[str, Binding], answers: pa.Schema  # noqa: ARG002
    ) -> "SmallGroupTable | SmallGroups | None":  # fmt: skip
        """The table that answers small groups together by one call, instead of a processor each; None if there is none.

        The framework holds the groups of a table, over windows in time or in rows; `SmallGroups` hold their own.
        """
        return None

    def broadcast_state(self) -> "BroadcastState | None":
        """A new, empty state of the second table (`Query.broadcast`); None if the query has none.

        `GroupProcessor.listen` passes it to processors.
        """
        return None

    def end(self, latest: int) -> int | None:
        """The watermark at which everything of `finish(latest)` is answered; None if a processor knows (its `end`).

        Rows before it would be late. A query whose `schedule` is a Schedule needs no processor for this,
        unless a second table changes what it answers.
        """
        schedule = getattr(self.query, "schedule", None)
        if not isinstance(schedule, Schedule) or self.broadcast_state() is not None:
            return None
        return latest + 1 if self.query.rows else int(schedule.each_after(latest).max())

    def parts_of(self, answers: pa.RecordBatch) -> Int64 | None:  # noqa: ARG002
        """int64[n]: the one of the query's `subqueries` of each answer; None if the query has one schedule for all.

        If parts have their own moments, `query.schedule` has those of each. A finished stream then gives no answer of a
        part after its first moment beyond the last row, just like a batch. -1: of no part, when changes are reported
        for a part that has left. Not for a query whose states of shards merge: their answers are concatenated.
        """
        return None

    def named_by_parts(self, answers: pa.RecordBatch, parts: Int64) -> pa.RecordBatch:  # noqa: ARG002
        """The answers renamed for these parts, whose names may have changed. Used with `parts_of`."""
        return answers

    def partition(self, frame: pa.RecordBatch, shards: int) -> Partitioning:
        """The shards of each row, without `by`. Every row belongs to one shard, whatever others get it too."""
        return by_hash(frame.column(str(self.query.shard_by)).to_numpy().view(np.uint64), shards)

    def merge(self, answers: pa.Table) -> pa.Table:
        """Merge answers of the shards at the same moments (`shard_fields`). Never called if `one_shard` is set."""
        message = f"{self.query.kind} needs all rows in one place: use shards = 1 (got {answers})"
        raise ConfigError(Problem("shards", message))

    def shard_fields(self, schema: pa.Schema) -> list[pa.Field]:
        """The columns of a shard's answers without `by`: those of the result, and others that `merge` needs."""
        return self.query.answer_fields(schema)

    def state_problems(self, state: "State", schema: pa.Schema) -> list[Problem]:  # noqa: ARG002
        """Why a stream of this query cannot start from an emitted state, besides its backend and coverage."""
        message = f"{self.query.kind} cannot start from a table of states: start from history, of a batch"
        return [Problem("kind", message)]

    def open_parameters(self, role: str) -> tuple[str, ...]:  # noqa: ARG002
        """The parameters of a role's backend in which emitted states may differ from this query's.

        The stream's backend has this query's parameters, and its `load_state` accepts a state made with others.
        """
        return ()

    def open_keys(self, before: Query) -> tuple[str, ...]:  # noqa: ARG002
        """The keys in which this query may differ from `before`, whose savepoint it resumes."""
        return self.query.evolvable

    def unmerged(self, bindings: Mapping[str, Binding]) -> str | None:
        """Why the states of two shards without `by` cannot be merged; None if `GroupProcessor.merge` does that."""
        if self.merges is None or self.query.rows:
            return f"the states of a {self.query.kind} do not merge"
        info = bindings[self.merges].info
        return f"{info.name} lacks merge: {info.lacks['merge']}" if "merge" in info.lacks else None


def execution_of(query: Query) -> Execution[Any]:
    """The execution of a query. Raises PluginError if the class it names is missing or not an Execution."""
    return _load(type(query).answered_by, query.kind)(query)


def check_broadcast(query: Query, rows: pa.Table, schema: pa.Schema | None) -> "RefusedRows":
    """The rows of a query's second table, without earlier rows, that are rejected.

    schema: the source's, if known; otherwise groups may have any names.
    Raises ConfigError if the query has no such table, InputError if columns are missing.
    """
    state = execution_of(query).broadcast_state()
    if state is None:
        message = f"this {query.kind} takes no second table: see its page for what it needs"
        raise ConfigError(Problem(query.broadcast or "rules", message))
    is_known = schema is not None and {*query.by} <= {*schema.names}
    fields = query.group_fields(schema) if is_known else [pa.field(name, pa.string()) for name in query.by]
    state.group_by(pa.schema(fields))
    if schema is not None:
        state.read_from(schema)
    return state.take(rows, None)


@cache
def _load(place: str, kind: str) -> type[Execution[Any]]:
    whose = f"execution of query {kind!r}"
    cls = load_class(place, Execution, whose)
    check_class(cls, place, whose)
    return cls
