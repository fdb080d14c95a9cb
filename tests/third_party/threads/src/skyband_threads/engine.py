"""An engine of this process: threads with an operator each. A group's rows all go to one of them."""

from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa
from skyband import snapshot
from skyband.arrays import TIME_MIN
from skyband.columns.arrow_normalization import check_whole, columns_as
from skyband.columns.keyed_frames import GROUP
from skyband.engines.engine import InProcessEngine, Run
from skyband.errors import SnapshotError
from skyband.operator.bad_rows import Unreadable, late_rows, unreadable_rows
from skyband.operator.metrics import Metrics
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode, hashed_columns
from skyband.queries.query import BAD, FAIL, Query
from skyband.registry import Binding
from skyband.watermark import EventTimeProgress, Ticking

THREADS = 4
T = TypeVar("T")


class ThreadsEngine(InProcessEngine):
    """Queries with `by` are answered by several threads at once; one without groups is answered by the first."""

    name: ClassVar[str] = "threads"

    def begin(self, query: Query, bindings: Mapping[str, Binding], schema: pa.Schema) -> "ThreadsRun":
        return ThreadsRun(query, schema, lambda: Operator(query, bindings, schema))


class ThreadsRun(Run):
    """A query on several operators, which are told the same of time, so that all have the same watermark."""

    def __init__(self, query: Query, schema: pa.Schema, make: Callable[[], Operator]) -> None:
        self.query, self.schema, self._make = query, schema, make
        self._operators = [make() for _ in range(THREADS)]
        self._threads = ThreadPoolExecutor(THREADS)
        self._added = EventTimeProgress.nowhere(query.source_count)

    @property
    def result_schema(self) -> pa.Schema:
        return self._operators[0].result_schema

    @property
    def watermark(self) -> int | None:
        return self._operators[0].watermark

    def add(self, batch: pa.RecordBatch) -> EventTimeProgress:
        query, columns = self.query, tuple(self.query.columns)
        check_whole(batch, columns)
        encoded = encode(query, columns_as(batch, columns, self.schema, hashed_columns(query)))
        self._operators[0].count_dropped(encoded.dropped)
        if encoded.bad is not None and self.on_bad_rows is not None:
            self.on_bad_rows(encoded.bad)
        late = None if self.on_late_rows is None else self._operators[0].late_rows(encoded.frame)
        if late is not None and self.on_late_rows is not None:
            self.on_late_rows(late_rows(query, encoded.as_they_came().filter(pa.array(late))))
        owner = encoded.frame.column(GROUP).to_numpy() % THREADS
        for number, operator in enumerate(self._operators):
            operator.add(encoded.frame.filter(pa.array(owner == number)))
        self._added.add(encoded.progress)
        return encoded.progress

    def step(self, progress: EventTimeProgress) -> pa.RecordBatch:
        self._added = EventTimeProgress.nowhere(self.query.source_count)
        return self._answers(lambda operator: operator.step(deepcopy(progress)))

    def flush(self) -> pa.RecordBatch:
        tick = EventTimeProgress.nowhere(self.query.source_count)
        tick.tick = 0
        return self._answers(lambda operator: operator.step(deepcopy(tick), Ticking(finish=True)))

    def finish(self) -> pa.RecordBatch:
        near, *_ = [operator.drop_ahead(deepcopy(self._added)) for operator in self._operators]
        added = near if self.query.ahead is not None else self._added.newest
        times = [time for time in (added, self._operators[0].progress.newest) if time is not None]
        return self._answers(lambda operator: operator.finish(max(times, default=TIME_MIN)))

    def broadcast(self, rows: Any) -> None:
        table = rows if isinstance(rows, pa.Table) else pa.table(rows)
        refused, *_ = [operator.broadcast(table) for operator in self._operators]  # by each, for the same reasons
        if refused and self.query.bad_rows == FAIL:
            raise refused[0][0]
        if refused:
            self.refuse(refused)

    def refuse(self, refused: Unreadable) -> None:
        self._operators[0].count_dropped({BAD: len(refused)})
        if self.on_bad_rows is not None:
            self.on_bad_rows(unreadable_rows(self.query, self.schema, refused))

    def take_metrics(self) -> Metrics:
        parts = [operator.take_metrics() for operator in self._operators]
        return Metrics(
            rows_in=sum(part.rows_in for part in parts),
            rows_late=sum(part.rows_late for part in parts),
            late_by=max(part.late_by for part in parts),
            dropped=sum((Counter(part.dropped) for part in parts), Counter()),
            retained=sum(part.retained for part in parts),
            groups=sum(part.groups for part in parts),
            seconds=max(part.seconds for part in parts),
        )

    def snapshot(self) -> bytes:
        blobs = self._at_once(Operator.snapshot)
        arrays = {f"operator {number}": np.frombuffer(blob, np.uint8) for number, blob in enumerate(blobs)}
        return snapshot.encode({"threads": len(blobs)}, arrays)

    def restore(self, blob: bytes) -> None:
        """Nothing is taken over before every operator has its part."""
        saved = snapshot.decode(blob)
        if saved.header != {"threads": THREADS}:
            raise SnapshotError(f"is not of {THREADS} threads ({saved.header}): start over, or use that engine")
        fresh = [self._make() for _ in range(THREADS)]
        for number, operator in enumerate(fresh):
            operator.restore(saved.arrays[f"operator {number}"].tobytes())
        self._operators = fresh
        self._added = EventTimeProgress.nowhere(self.query.source_count)

    def _answers(self, ask: Callable[[Operator], pa.RecordBatch]) -> pa.RecordBatch:
        """In any order of groups: a group's own stay in theirs, since one operator has them all."""
        return pa.concat_batches(self._at_once(ask))

    def _at_once(self, ask: Callable[[Operator], T]) -> list[T]:
        return list(self._threads.map(ask, self._operators))
