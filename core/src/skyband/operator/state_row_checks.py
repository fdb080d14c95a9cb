"""Checks waiting or logged rows from a state, which is not trusted."""

from functools import cached_property

import pyarrow as pa
from attrs import define

from skyband.arrays import TIME_MAX
from skyband.columns import keyed_frames
from skyband.columns.arrow_normalization import no_rows
from skyband.columns.state_frame_checks import check_numbers, refused_as_damage
from skyband.config.durations import MOST
from skyband.errors import SnapshotError
from skyband.operator.row_encoding import check_years, encode
from skyband.operator.shard import Shard
from skyband.queries.error_attribution import attributed
from skyband.queries.query import Query
from skyband.roles.sharding import BOTH, PROBE


@define(slots=False)
class StateRowChecks:
    """Checks that frames are like those of a query, as one of its shards gets them."""

    query: Query
    schema: pa.Schema
    """The schema of the source."""
    shard: Shard | None

    def checked(self, frame: pa.RecordBatch) -> pa.RecordBatch:
        """The frame without dictionaries. Raises SnapshotError for a row that `encode` cannot have made. O(bytes).

        `Query.check_frame` checks what only the query knows.
        """
        columns = _plain_types(frame.schema)
        part = columns.pop(keyed_frames.PART, pa.int8())
        if part != pa.int8() or columns != self._types or len(set(frame.schema.names)) < len(frame.schema):
            raise SnapshotError(f"holds rows with the columns {columns}, but the query has {self._types}")
        frame = keyed_frames.concatenated([frame])
        most = TIME_MAX - 1 if pa.types.is_integer(self.schema.field(self.query.time).type) else MOST
        times = check_numbers(frame, keyed_frames.TIME, at_least=-most, at_most=most)
        groups = check_numbers(frame, keyed_frames.GROUP, at_most=None if self.query.by else 0)
        if keyed_frames.PART in frame.schema.names:
            check_numbers(frame, keyed_frames.PART, at_least=PROBE, at_most=BOTH)
        if keyed_frames.COPY in frame.schema.names:
            check_numbers(frame, keyed_frames.COPY, at_most=1)
        if self.query.by and self.shard is not None:
            self.shard.check_groups(groups)
        with attributed(self.query), refused_as_damage():
            check_years(self.query, times)
            self.query.check_frame(frame)
        return frame

    @cached_property
    def _types(self) -> dict[str, pa.DataType]:
        """The columns of the query's frames, with their types without dictionaries."""
        return _plain_types(encode(self.query, no_rows(self.schema)).frame.schema)


def _plain_types(schema: pa.Schema) -> dict[str, pa.DataType]:
    return {name: keyed_frames.plain_type(kind) for name, kind in zip(schema.names, schema.types, strict=True)}
