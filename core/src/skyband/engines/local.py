"""The local engine: runs the operator in this process, Arrow in and out, without Java. The reference for the others."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field

from skyband.arrays import TIME_MIN
from skyband.columns.arrow_normalization import check_whole, columns_as, usual_schema
from skyband.columns.keyed_frames import decoded
from skyband.engines.engine import Run
from skyband.errors import InputError
from skyband.operator.bad_rows import Unreadable, late_rows, unreadable_rows
from skyband.operator.bind_backends import bind
from skyband.operator.metrics import Metrics
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode, hashed_columns
from skyband.queries import make_query
from skyband.queries.output_modes import for_a_program
from skyband.queries.query import BAD, FAIL, Query
from skyband.watermark import EventTimeProgress, Ticking


@define(eq=False)
class LocalRun(Run):
    """A query over batches as they arrive: `push` each, then `finish`.

    Late rows and rows with missing values are dropped, and counted in the operator's metrics.
    """

    operator: Operator
    on_bad_rows: Callable[[pa.RecordBatch], None] | None = None
    on_late_rows: Callable[[pa.RecordBatch], None] | None = None
    _latest: int | None = field(default=None, init=False)
    """The newest time of all rows, without those dropped as `ahead` of the others."""
    _added: EventTimeProgress = field(init=False)
    """The times reached by the rows added since the last step, used if the query has `ahead`."""

    _columns: tuple[str, ...] = field(init=False)
    """The columns that the query reads, computed once because every batch needs them."""

    @_columns.default
    def _columns_of_query(self) -> tuple[str, ...]:
        return tuple(self.operator.query.columns)

    @_added.default
    def _nowhere(self) -> EventTimeProgress:
        return EventTimeProgress.nowhere(self.operator.query.source_count)

    @classmethod
    def start(
        cls, query: Query | Mapping[str, Any], schema: pa.Schema, backends: Mapping[str, Any] | None = None
    ) -> "LocalRun":
        """Raises ConfigError with every problem at once if the query does not fit the schema or the backends."""
        own_query, own_schema = for_a_program(make_query(query)), usual_schema(schema)
        return cls(Operator(own_query, bind(own_query, own_schema, backends), own_schema))

    @property
    def query(self) -> Query:  # type: ignore[override]
        return self.operator.query

    @property
    def schema(self) -> pa.Schema:
        return self.operator.schema

    @property
    def result_schema(self) -> pa.Schema:
        return self.operator.result_schema

    @property
    def watermark(self) -> int | None:
        return self.operator.watermark

    def take_metrics(self) -> Metrics:
        return self.operator.take_metrics()

    def snapshot(self) -> bytes:
        return self.operator.snapshot()

    def restore(self, blob: bytes) -> None:
        self.operator.restore(blob)
        self._latest = self.operator.progress.newest
        self._added = self._nowhere()

    def step(self, progress: EventTimeProgress, ticking: Ticking | None = None) -> pa.RecordBatch:
        """Answer the moments that the rows just added complete, and those that a clock ticks past."""
        answers = self.operator.step(progress, ticking)
        self._added = self._nowhere()
        self._reach(progress.newest)
        return answers

    def finish(self) -> pa.RecordBatch:
        """The input has ended: return the answers up to the first moment after the last row."""
        self._reach(self.operator.drop_ahead(self._added))
        return self.operator.finish(TIME_MIN if self._latest is None else self._latest)

    def _reach(self, time: int | None) -> None:
        self._latest = max((each for each in (time, self._latest) if each is not None), default=None)

    def flush(self) -> pa.RecordBatch:
        """Answer as `finish` does, and stay ready for more rows; rows before the answered moments are then late."""
        tick = EventTimeProgress.nowhere(self.operator.query.source_count)
        tick.tick = 0
        return self.operator.step(tick, Ticking(finish=True))

    def broadcast(self, rows: Any) -> None:
        """Take in rows of the query's second table: they apply to moments not answered yet.

        Rows that cannot be used are bad rows. Raises InputError at the first, if `bad_rows` is "fail".
        """
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        refused = self.operator.broadcast(table if isinstance(table, pa.Table) else _as_table(table))
        if refused and self.operator.query.bad_rows == FAIL:
            raise refused[0][0]
        if refused:
            self.refuse(refused)

    def refuse(self, refused: Unreadable) -> None:
        """Count unreadable rows or files as bad rows; each comes with what is wrong, a row also with its text."""
        self.operator.count_dropped({BAD: len(refused)})
        if self.on_bad_rows is not None:
            self.on_bad_rows(unreadable_rows(self.operator.query, self.operator.schema, refused))

    def add(self, batch: pa.RecordBatch) -> EventTimeProgress:
        """Take in rows without answering yet; if only `finish` follows, they may arrive in any order."""
        query = self.operator.query
        check_whole(batch, self._columns)
        encoded = encode(query, columns_as(batch, self._columns, self.operator.schema, hashed_columns(query)))
        self.operator.count_dropped(encoded.dropped)
        if encoded.bad is not None and self.on_bad_rows is not None:
            self.on_bad_rows(encoded.bad)
        if query.ahead is None:
            self._reach(encoded.progress.newest)
        else:
            self._added.add(encoded.progress)
        late = None if self.on_late_rows is None else self.operator.late_rows(encoded.frame)
        if late is not None and self.on_late_rows is not None:
            self.on_late_rows(late_rows(query, encoded.as_they_came().filter(pa.array(late))))
        self.operator.add(encoded.frame)
        return encoded.progress


def apply(
    data: Any, query: Query | Mapping[str, Any], backends: Mapping[str, Any] | None = None, rules: Any = None
) -> pa.Table:
    """The answers of a query over a bounded input, which may be in any order: no row is late.

    Warns about rows left out because they break a promise of the query, such as `repeats` of top-k, or are bad rows
    that `bad_rows` leaves out.

    Parameters
    ----------
    data : table, record batches or DataFrame
        an Arrow table or batches, or a DataFrame of pandas, polars or another library that exports to Arrow
    query : Query or mapping
        a Query, or a mapping of its keys, including `kind`
    backends : mapping, default None
        for each role, the name of a backend or a table with `name` and parameters; other roles use their default
    rules : table or DataFrame, default None
        the second table of a query that takes one, as the page of its kind describes it

    Returns
    -------
    pyarrow.Table
        the answers ordered by moment, then group, with the columns listed on the query's page

    Raises
    ------
    ConfigError
        the query or a backend is wrong: all problems at once
    InputError
        a row cannot be read
    """
    batches, schema = batches_of(data)
    run = LocalRun.start(query, schema, backends)
    if rules is not None:
        run.broadcast(rules)
    for batch in batches:
        run.add(batch)
    answers = pa.Table.from_batches([run.finish()])
    metrics = run.operator.take_metrics()
    dropped = metrics.dropped
    for reason, text in run.operator.query.promises.items():
        if dropped.get(reason):
            warnings.warn(f"{dropped[reason]:,} {text}", stacklevel=2)
    if dropped.get(BAD):
        message = 'rows could not be used and were left out; bad_rows = "fail" shows what is wrong with the first'
        warnings.warn(f"{dropped[BAD]:,} {message}", stacklevel=2)
    left_out = [count for reason, count in dropped.items() if reason not in run.operator.query.answered_reasons]
    if metrics.rows_in and sum(left_out) == metrics.rows_in:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in dropped.items())
        warnings.warn(f"all {metrics.rows_in:,} rows were left out: {reasons}", stacklevel=2)
    return in_order(run.operator.query, answers)


def batches_of(data: Any) -> tuple[Iterator[pa.RecordBatch], pa.Schema]:
    """The batches of what `apply` takes, and their schema. Raises InputError for anything else."""
    if _is_frame(data):
        data = _as_table(data)
    if isinstance(data, pa.Table | pa.RecordBatch):
        return iter([data] if isinstance(data, pa.RecordBatch) else data.to_batches()), data.schema
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise InputError("data", _UNREADABLE.format(_type_name(data)))
    batches = iter(data)
    first = next(batches, None)
    if first is None:
        raise InputError("data", "has no batches, and so no schema: pass an empty table with the columns of the source")
    if not isinstance(first, pa.RecordBatch):
        raise InputError("data", _UNREADABLE.format(f"{_type_name(data)} of {_type_name(first)}"))
    return chain([first], batches), first.schema


def _as_table(frame: Any) -> pa.Table:
    """An Arrow table of another library's DataFrame. Raises InputError with what Arrow or that library reports."""
    try:
        return pa.table(frame)
    except (TypeError, ValueError, LookupError, ArithmeticError, NotImplementedError, pa.ArrowException) as error:
        detail = ". ".join(" ".join(str(part).split()) for part in error.args)
        remedy = "give each such column one type and a unique name, or leave it out"
        raise InputError("data", f"is a DataFrame that cannot be read as an Arrow table: {detail}; {remedy}") from error


_UNREADABLE = "must be an Arrow table, record batches, or a DataFrame of pandas or polars (got {})"


def _is_frame(data: Any) -> bool:
    """Whether it is a DataFrame of another library, which Arrow converts whole."""
    if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return False
    return hasattr(data, "__arrow_c_stream__") or type(data).__module__.partition(".")[0] == "pandas"


def _type_name(data: Any) -> str:
    return f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")


def in_order(query: Query, answers: pa.Table) -> pa.Table:
    """The answers sorted by moment, then by group."""
    by = len(query.by)
    keys = [_sortable(answers.column(place).combine_chunks()) for place in (by, *range(by))]
    names = [str(place) for place in range(len(keys))]
    return answers.take(pc.sort_indices(pa.table(keys, names), [(name, "ascending") for name in names]))


def _sortable(column: pa.Array) -> pa.Array:
    """The column in a type that Arrow can sort, in the same order."""
    column = decoded(column)
    return column.cast(pa.float32()) if pa.types.is_float16(column.type) else column
