"""Cuts a bounded source at its query's moments, so that every backend gets the same rows in the same steps."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen
from skyband.arrays import Int64
from skyband.columns import keyed_frames
from skyband.errors import ConfigError, Problem
from skyband.operator.row_encoding import encode
from skyband.queries.output_modes import ALL
from skyband.queries.query import Query

MOST = 1000
"""The most steps; with more moments, a step has several."""
MICRO_BATCH = 1000
"""The most rows in a step of a query that answers each row."""


@frozen(eq=False)
class Steps:
    """Rows in order of time, as frames for an operator. Step i has rows cuts[i] to cuts[i + 1]."""

    query: Query
    schema: pa.Schema
    frame: pa.RecordBatch
    cuts: Int64
    """int64[s + 1]"""
    watermarks: Int64
    """int64[s − 1]: the time to which each step advances, except the last, which ends the input."""
    latest: int
    each: int
    """Moments in a step; 0 if each row is answered."""

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def rows(self, step: int) -> pa.RecordBatch:
        """The rows of a step, not copied."""
        return self.frame.slice(int(self.cuts[step]), int(self.cuts[step + 1] - self.cuts[step]))

    @property
    def in_rows(self) -> bool:
        """Whether the moments of its answers are numbers: of rows, or of a numeric time column."""
        counted = self.query.rows and pace(self.query) is not None
        return counted or pa.types.is_integer(self.schema.field(self.query.time).type)

    def end(self, step: int) -> int:
        """The end of a step, in the unit of the moments."""
        if self.query.rows and pace(self.query) is not None:
            return int(self.cuts[step + 1])
        return self.latest if step == len(self) - 1 else int(self.watermarks[step])

    @property
    def moment(self) -> str:
        """What a latency refers to."""
        if self.each == 0:
            return f"micro-batch of {int(np.diff(self.cuts).max()):,} rows"
        return "moment" if self.each == 1 else f"moment, the mean of {self.each}"


def steps_of(query: Query, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Steps:
    """Encode and cut a source. Raises ConfigError if no rows are left, InputError as `encode` does.

    Backends are compared by whole answers, also for a query that returns changes.
    """
    query = evolve(query, answers=ALL, key=(), changed=())
    waiting, dropped, rows_in = [], dict[str, int](), 0
    for batch in batches:
        encoded = encode(query, batch)
        rows_in += len(batch)
        waiting.append(encoded.frame)
        for reason, count in encoded.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    if not sum(map(len, waiting)):
        why = ", ".join(f"{count:,} with {reason}" for reason, count in dropped.items() if count)
        message = f"all {rows_in:,} rows are left out ({why})" if rows_in else "it has no rows"
        raise ConfigError(Problem("source", f"nothing to compare on: {message}"))
    frame = keyed_frames.concatenated(waiting)
    times = frame.column(keyed_frames.TIME).to_numpy()
    if (times[1:] < times[:-1]).any():
        frame = frame.take(pa.array(np.argsort(times, kind="stable")))
        times = frame.column(keyed_frames.TIME).to_numpy()
    cuts, watermarks, each = _cut(query, times)
    return Steps(query, schema, frame, cuts, watermarks, int(times[-1]), each)


def _cut(query: Query, times: Int64) -> tuple[Int64, Int64, int]:
    every = pace(query)
    if every is not None and not query.rows:
        first = (int(times[0]) - every[1]) // every[0] * every[0] + every[0] + every[1]
        moments = max(0, -(-(int(times[-1]) + 1 - first) // every[0]))  # all except the one that ends the input
        each = -(-(moments + 1) // MOST)
        watermarks = first + every[0] * np.arange(each - 1, moments, each)
        inner = np.searchsorted(times, watermarks)
    else:
        size = min(max(len(times) // 50, 1), MICRO_BATCH) if every is None else every[0]
        each = 1 if every is None else -(-len(times) // (size * MOST))
        # rows of one time have their own order, which a cut between them would change
        ends = np.searchsorted(times, times[np.arange(size * each, len(times), size * each) - 1], side="right")
        inner = np.unique(ends[ends < len(times)])
        watermarks = times[inner - 1] + 1
        each = 0 if every is None else each
    return np.concatenate([[0], inner, [len(times)]]).astype(np.int64), watermarks.astype(np.int64), each


def pace(query: Any) -> tuple[int, int] | None:
    """The distance of its moments and the first one, in microseconds or rows; None if each row is answered."""
    if hasattr(query, "every"):
        return query.every.length, query.offset.length % query.every.length if hasattr(query, "offset") else 0
    if hasattr(query, "queries"):
        quickest = min((entry.lengths for entry in query.queries), key=lambda lengths: lengths.slide)
        return quickest.slide, quickest.phase % quickest.slide
    return None
