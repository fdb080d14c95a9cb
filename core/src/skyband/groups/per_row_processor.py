"""A processor that answers each row as it arrives, and the column of its time."""

from abc import abstractmethod

import pyarrow as pa

from skyband.arrays import TIME_MAX
from skyband.columns.rows import Rows
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.groups.processor import GroupProcessor
from skyband.queries.query import Query


class PerRowProcessor(GroupProcessor):
    """Answers each row as it arrives, over windows counted in tuples, which never become empty."""

    @property
    def next_at(self) -> int:
        return TIME_MAX

    @property
    def empty(self) -> bool:
        return False

    def advance(self, rows: Rows, until: int) -> ProcessorAnswers | None:  # noqa: ARG002 - it waits for no moment
        return self.arrive(rows) if len(rows) else None

    def finish(self, rows: Rows, latest: int) -> ProcessorAnswers | None:
        return self.advance(rows, latest)

    @abstractmethod
    def arrive(self, rows: Rows) -> ProcessorAnswers | None:
        """Take in rows and answer each."""


def time_field(query: Query, schema: pa.Schema) -> pa.Field:
    """The result's `time` column: each row's own time, to the microsecond, or its integer."""
    kind = schema.field(query.time).type
    if pa.types.is_integer(kind):
        return pa.field("time", pa.int64())
    return pa.field("time", pa.timestamp("us", kind.tz if pa.types.is_timestamp(kind) else None))
