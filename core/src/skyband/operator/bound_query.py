"""A query bound to backends for the columns of a source: all of an operator that no row changes."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import pyarrow as pa
from attrs import define

from skyband import snapshot
from skyband.columns.arrow_normalization import no_rows
from skyband.groups.execution import Execution, execution_of
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.host import SmallGroups
from skyband.operator.fingerprint import fingerprint
from skyband.queries.query import Query
from skyband.registry import Binding


@define(eq=False)
class BoundQuery:
    """What an operator's parts are made with: processors, small groups, schemas of answers, a checkpoint's header."""

    query: Query
    bindings: Mapping[str, Binding]
    schema: pa.Schema
    """Schema of the source."""
    shared: bool
    """Whether its rows are in several shards without groups, whose answers are merged into one."""

    @cached_property
    def execution(self) -> Execution[Any]:
        """How the query is answered."""
        return execution_of(self.query)

    @cached_property
    def group_answers(self) -> pa.Schema:
        """Schema of what processors and small groups answer."""
        return pa.schema((self.execution.shard_fields if self.shared else self.query.answer_fields)(self.schema))

    @property
    def result_schema(self) -> pa.Schema:
        """Schema of what the operator gives: the answers, or the changes in them."""
        return self.group_answers if self.shared else self.query.result_schema(self.schema)

    @cached_property
    def whole_answers(self) -> pa.Schema:
        """Schema of what all groups answer, each row with the values of its group."""
        by = [] if self.shared else self.query.group_fields(self.schema)
        return pa.schema([*by, *self.group_answers])

    def no_answers(self) -> pa.RecordBatch:
        """A batch of whole answers without rows."""
        return no_rows(self.whole_answers)

    def no_results(self) -> pa.RecordBatch:
        """A batch without rows of what the operator gives."""
        return no_rows(self.result_schema)

    def processor(self, joined: Mapping[str, int]) -> GroupProcessor:
        """That of a group without rows; joined: parts that joined the checkpoint, each with the watermark then."""
        processor = self.execution.processor(self.bindings, self.group_answers)
        if joined and not self.query.rows:  # a group knows its own rows
            processor.start_from(joined)
        return processor

    def small_groups(self) -> SmallGroups | None:
        """The host of small groups; None where the query has no groups, or has a processor for each."""
        groups = self.execution.small_groups(self.bindings, self.group_answers) if self.query.by else None
        if groups is None:
            return None
        from skyband.groups.small_groups.host import SmallGroups  # on use, because they load numba
        from skyband.groups.small_groups.windows_in_rows import SmallRowWindows
        from skyband.groups.small_groups.windows_in_time import SmallTimeWindows

        if isinstance(groups, SmallGroups):
            return groups
        return SmallRowWindows(groups, self.query.subqueries) if self.query.rows else SmallTimeWindows(groups)

    def fingerprint(self) -> dict[str, str]:
        """What must stay the same for a checkpoint to go on."""
        return fingerprint(self.query, self.bindings, self.schema)

    @cached_property
    def backend_parameters(self) -> dict[str, dict[str, str]]:
        """By role, the backend's own parameters as text, defaults and all: another version's may be others."""
        by_role = {}
        for role, binding in self.bindings.items():
            query_parameters = self.query.backend_parameters(role)
            every = {name: snapshot.text(v) for name, v in binding.create(**query_parameters).parameters().items()}
            by_role[role] = {name: value for name, value in every.items() if name not in query_parameters}
        return by_role
