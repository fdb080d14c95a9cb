"""A query bound to backends for the columns of a source: the part of an operator that rows never change."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import define

from skyband import snapshot
from skyband.columns.arrow_normalization import no_rows
from skyband.groups.execution import Execution, execution_of
from skyband.groups.processor import GroupProcessor
from skyband.operator.fingerprint import fingerprint
from skyband.queries.query import Query
from skyband.registry import Binding
from skyband.windows.schedule import Schedule

if TYPE_CHECKING:
    from skyband.groups.small_groups.host import SmallGroups


@define(eq=False)
class BoundQuery:
    """Makes an operator's parts: processors, small groups, schemas of answers, a checkpoint's header."""

    query: Query
    bindings: Mapping[str, Binding]
    schema: pa.Schema
    """Schema of the source."""
    shared: bool
    """Whether its rows are spread over several shards without groups, whose answers are merged."""

    @cached_property
    def execution(self) -> Execution[Any]:
        """The execution of the query."""
        execution = execution_of(self.query)
        execution.schema = self.schema
        return execution

    @cached_property
    def schedule(self) -> Schedule | None:
        """The moments of its answers; None if it has none."""
        schedule = getattr(self.query, "schedule", None)
        return schedule if isinstance(schedule, Schedule) else None

    @cached_property
    def group_answers(self) -> pa.Schema:
        """The schema of answers of processors and small groups."""
        return pa.schema((self.execution.shard_fields if self.shared else self.query.answer_fields)(self.schema))

    @property
    def result_schema(self) -> pa.Schema:
        """The schema of the operator's output: answers, or changes of them."""
        return self.group_answers if self.shared else self.query.result_schema(self.schema)

    @cached_property
    def whole_answers(self) -> pa.Schema:
        """The schema of the answers of all groups, with the values of each group."""
        by = [] if self.shared else self.query.group_fields(self.schema)
        return pa.schema([*by, *self.group_answers])

    def no_answers(self) -> pa.RecordBatch:
        """An empty batch of whole answers."""
        return no_rows(self.whole_answers)

    def no_results(self) -> pa.RecordBatch:
        """An empty batch of the operator's output."""
        return no_rows(self.result_schema)

    def processor(self, joined: Mapping[str, int]) -> GroupProcessor:
        """A new group's processor; joined: parts that joined the checkpoint, each with the watermark at that time."""
        processor = self.execution.processor(self.bindings, self.group_answers)
        if joined and not self.query.rows:  # a group knows its own rows
            processor.start_from(joined)
        return processor

    def small_groups(self) -> "SmallGroups | None":
        """The host of small groups; None if the query has no groups, or needs a processor for each."""
        groups = self.execution.small_groups(self.bindings, self.group_answers) if self.query.by else None
        if groups is None:
            return None
        from skyband.groups.small_groups.host import SmallGroups  # imported on use: they load numba
        from skyband.groups.small_groups.windows_in_rows import SmallRowWindows
        from skyband.groups.small_groups.windows_in_time import SmallTimeWindows

        if isinstance(groups, SmallGroups):
            return groups
        return SmallRowWindows(groups, self.query.subqueries) if self.query.rows else SmallTimeWindows(groups)

    def fingerprint(self) -> dict[str, str]:
        """What must stay the same for a checkpoint to be resumed."""
        return fingerprint(self.query, self.bindings, self.schema)

    @cached_property
    def backend_parameters(self) -> dict[str, dict[str, str]]:
        """By role, all of the backend's own parameters as text: another version may have other defaults."""
        by_role = {}
        for role, binding in self.bindings.items():
            query_parameters = self.query.backend_parameters(role)
            every = {name: snapshot.text(v) for name, v in binding.create(**query_parameters).parameters().items()}
            by_role[role] = {name: value for name, value in every.items() if name not in query_parameters}
        return by_role
