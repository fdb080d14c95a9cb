"""How a query is answered: a processor a group, small groups together, and the answers of shards made into one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
import pyarrow as pa

from skyband.arrays import Int64
from skyband.errors import ConfigError, Problem
from skyband.groups.broadcast_state import BroadcastState, RefusedRows
from skyband.groups.partitioning import Partitioning, by_hash
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.host import SmallGroups
from skyband.queries.query import Query
from skyband.registry import Binding
from skyband.registry.module_import import check_class, load_class
from skyband.states.state import State
from skyband.windows.schedule import Schedule

if TYPE_CHECKING:
    from skyband.groups.small_groups.table import SmallGroupTable

Q = TypeVar("Q", bound=Query)


class Execution(ABC, Generic[Q]):
    """The other half of a query: `Query.answered_by` names its class, which is imported when a query first runs.

    So what a query asks can be read, checked and described without loading what answers it.
    """

    merges: ClassVar[str | None] = None
    """The role whose backends merge, where the states of two shards without `by` make one if they do."""

    def __init__(self, query: Q) -> None:
        self.query = query

    @abstractmethod
    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        """A fresh stream of one group; `answers` is the schema of its answers, of `answer_fields` or `shard_fields`."""

    def small_groups(
        self, bindings: Mapping[str, Binding], answers: pa.Schema  # noqa: ARG002
    ) -> "SmallGroupTable | SmallGroups | None":  # fmt: skip
        """Where small groups may be answered together by one call, instead of a processor each: the table that does.

        The frame holds the groups of a table, over windows in time or in rows; `SmallGroups` hold their own.
        """
        return None

    def broadcast_state(self) -> BroadcastState | None:
        """Where rows of a second table say what all groups answer (`Query.broadcast`), one without any yet.

        Its processors are then given it, by `GroupProcessor.listen`.
        """
        return None

    def end(self, latest: int) -> int | None:
        """The watermark at which all is given that `finish(latest)` would; None where a processor tells (its `end`).

        Rows before it would be late. A query whose `schedule` is a Schedule needs no processor for this.
        """
        schedule = getattr(self.query, "schedule", None)
        if not isinstance(schedule, Schedule):
            return None
        return latest + 1 if self.query.rows else int(schedule.each_after(latest).max())

    def parts_of(self, answers: pa.RecordBatch) -> Int64 | None:  # noqa: ARG002
        """int64[n]: which of the query's `subqueries` each answer is of; None where the query has one schedule for all.

        With parts that answer at moments of their own, `query.schedule` has those of each. A stream that is finished
        is then given no answer of a part after its first moment beyond the last row, as a batch is not. -1: it is of
        none, as where a part has left of whose last answer changes are told. Not for a query whose states of shards
        merge: theirs are put side by side.
        """
        return None

    def named_by_parts(self, answers: pa.RecordBatch, parts: Int64) -> pa.RecordBatch:  # noqa: ARG002
        """The answers as those of these parts, which may have other names now. With `parts_of`."""
        return answers

    def partition(self, frame: pa.RecordBatch, shards: int) -> Partitioning:
        """The shards to which each row goes, without `by`. Every row is one shard's own, whatever others it goes to."""
        return by_hash(frame.column(str(self.query.shard_by)).to_numpy().view(np.uint64), shards)

    def merge(self, answers: pa.Table) -> pa.Table:
        """One answer from those of the shards at the same moments (`shard_fields`). Never where `one_shard` is set."""
        message = f"{self.query.kind} needs all rows in one place: use shards = 1 (got {answers})"
        raise ConfigError(Problem("shards", message))

    def shard_fields(self, schema: pa.Schema) -> list[pa.Field]:
        """The columns of a shard's answers without `by`: those of the result, and what `merge` needs besides."""
        return self.query.answer_fields(schema)

    def state_problems(self, state: State, schema: pa.Schema) -> list[Problem]:  # noqa: ARG002
        """Why a stream of this query cannot begin with an emitted state, besides its backend and what it covers."""
        return [Problem("kind", f"{self.query.kind} begins with no table of states: begin with history, of a batch")]

    def open_parameters(self, role: str) -> tuple[str, ...]:  # noqa: ARG002
        """The parameters of a role's backend in which emitted states may differ from what this query gives.

        The backend of such a stream has this query's, and takes over a state made with others: its `load_state` does.
        """
        return ()

    def open_keys(self, before: Query) -> tuple[str, ...]:  # noqa: ARG002
        """The keys in which this query may differ from `before`, whose savepoint it goes on from."""
        return self.query.evolvable

    def unmerged(self, bindings: Mapping[str, Binding]) -> str | None:
        """Why the states of two shards without `by` do not make one; None where `GroupProcessor.merge` does that."""
        if self.merges is None or self.query.rows:
            return f"the states of a {self.query.kind} do not merge"
        info = bindings[self.merges].info
        return f"{info.name} lacks merge: {info.lacks['merge']}" if "merge" in info.lacks else None


def execution_of(query: Query) -> Execution[Any]:
    """The execution of a query. Raises PluginError where the class it names is not there or is something else."""
    return _load(type(query).answered_by, query.kind)(query)


def check_broadcast(query: Query, rows: pa.Table, schema: pa.Schema | None) -> RefusedRows:
    """Those of the rows of a query's second table, none having come before, that cannot be taken.

    schema: the source's, where it is known; else groups may be named by any values.
    Raises ConfigError where the query takes no such table, InputError where it has not its columns.
    """
    state = execution_of(query).broadcast_state()
    if state is None:
        message = f"{query.kind}, as it is asked here, takes no second table: see its page for what it needs"
        raise ConfigError(Problem(query.broadcast or "rules", message))
    there = schema is not None and {*query.by} <= {*schema.names}
    fields = query.group_fields(schema) if there else [pa.field(name, pa.string()) for name in query.by]
    state.group_by(pa.schema(fields))
    return state.take(rows, None)


@cache
def _load(place: str, kind: str) -> type[Execution[Any]]:
    whose = f"execution of query {kind!r}"
    cls = load_class(place, Execution, whose)
    check_class(cls, place, whose)
    return cls
