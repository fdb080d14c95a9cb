"""The local engine: the operator in this process, Arrow in and out, no Java. The reference for the others."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field

from skyband.binding import bind
from skyband.engines.layouts import usual_batch, usual_schema
from skyband.errors import InputError
from skyband.frames import decoded
from skyband.operator import Operator
from skyband.queries import make_query
from skyband.queries.encoding import encode
from skyband.queries.query import Query
from skyband.watermark import FIRST, Reach, Ticking

Batches: TypeAlias = pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch]


@define(eq=False)
class LocalRun:
    """A query over batches as they come: `push` each, then `finish`.

    Late rows and those that say nothing are dropped, and counted in the operator's metrics.
    """

    operator: Operator
    _latest: int | None = field(default=None, init=False)

    @classmethod
    def start(
        cls, query: Query | Mapping[str, Any], schema: pa.Schema, backends: Mapping[str, Any] | None = None
    ) -> "LocalRun":
        """Raises ConfigError with every problem at once where the query does not fit the schema or the backends."""
        asked, taken = make_query(query), usual_schema(schema)
        return cls(Operator(asked, bind(asked, taken, backends), taken))

    def push(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Take in rows, in any order within `delay`, and return the answers of the moments passed."""
        return self.operator.turn(self.add(batch))

    def finish(self) -> pa.RecordBatch:
        """The input has ended: return the answers up to the first moment after the last row."""
        return self.operator.finish(FIRST if self._latest is None else self._latest)

    def flush(self) -> pa.RecordBatch:
        """Answer as `finish` does, and stay ready for rows to come: those before the moments answered are late."""
        tick = Reach.nowhere(self.operator.query.source_count)
        tick.tick = 0
        return self.operator.turn(tick, Ticking(finish=True))

    def add(self, batch: pa.RecordBatch) -> Reach:
        """Take in rows and answer nothing yet; where only `finish` follows, they may come in any order."""
        encoded = encode(self.operator.query, usual_batch(batch))
        self.operator.leave_out(encoded.dropped)
        newest = encoded.reach.newest
        if newest is not None:
            self._latest = newest if self._latest is None else max(self._latest, newest)
        self.operator.add(encoded.frame)
        return encoded.reach


def apply(data: Batches, query: Query | Mapping[str, Any], backends: Mapping[str, Any] | None = None) -> pa.Table:
    """The answers of a query over a bounded input, which may be in any order: no row is late.

    `query`: a Query, or its keys as a mapping, `kind` among them.

    `backends`: by role, a name or a table with `name` and parameters; the role's default where it is missing.

    Raises ConfigError with every problem at once, and InputError where a row cannot be read.
    """
    batches, schema = _batches(data)
    run = LocalRun.start(query, schema, backends)
    for batch in batches:
        run.add(batch)
    answers = pa.Table.from_batches([run.finish()])
    return answers.take(_order(run.operator, answers))


def _batches(data: Batches) -> tuple[Iterator[pa.RecordBatch], pa.Schema]:
    if isinstance(data, pa.Table):
        return iter(data.to_batches()), data.schema
    batches = iter([data] if isinstance(data, pa.RecordBatch) else data)
    first = next(batches, None)
    if first is None:
        raise InputError("data", "no batches, so no schema; pass an empty table with the columns of the source")
    return chain([first], batches), first.schema


def _order(operator: Operator, answers: pa.Table) -> pa.Array:
    """The rows by moment, then by group."""
    by = len(operator.query.by)
    keys = [decoded(answers.column(place).combine_chunks()) for place in (by, *range(by))]
    names = [str(place) for place in range(len(keys))]
    return pc.sort_indices(pa.table(keys, names), [(name, "ascending") for name in names])
