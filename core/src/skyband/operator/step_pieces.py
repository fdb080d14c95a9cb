"""Splits a step in which many moments are due, so that its memory follows the answers and not the work on them."""

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64
from skyband.columns.grouped_rows import GroupedRows
from skyband.operator.bound_query import BoundQuery
from skyband.windows.schedule import MOST_ANSWERED, MOST_MOMENTS, Endless, Schedule, TooManyMomentsError

AT_ONCE = 1 << 20
"""About how many moments of all groups are answered at once."""
_FAR = 1 << 62


def ends_of_pieces(
    bound: BoundQuery, earlier: int, before: int | None, ready: GroupedRows | None, end: int
) -> list[int]:
    """As `piece_ends`, for any query."""
    if bound.schedule is None:
        return []
    if bound.query.rows:
        return row_piece_ends(bound.schedule, ready)
    return piece_ends(bound.schedule, earlier, before, ready, end)


def piece_ends(schedule: Schedule, earlier: int, before: int | None, ready: GroupedRows | None, end: int) -> list[int]:
    """Watermarks before `end` that split a step into pieces of about AT_ONCE moments; none for a usual step.

    earlier: the number of groups that are answered up to the watermark `before`; ready: the step's rows. Raises
    TooManyMomentsError. O(n) for n rows, O(n log n) for more moments than AT_ONCE.
    """
    begins = [] if before is None else [before]
    begins += [] if ready is None else [int(ready.times.min())]
    begin, end = min(begins, default=end), min(end, _FAR)
    groups = earlier + (0 if ready is None else len(ready.keys))
    if (end - begin) * schedule.rate * groups <= AT_ONCE:
        return []
    reach = _FAR if isinstance(schedule, Endless) else schedule.horizon
    starts, lengths, own = _spans(ready, end, reach)
    longest = min(max(end - begin, 0), reach) if earlier and before is not None else 0
    total = max(own.sum(), longest * earlier) * schedule.rate
    of_one = max(own.max(initial=0), longest) * schedule.rate / len(schedule.slides)
    if total > MOST_ANSWERED or of_one > MOST_MOMENTS:
        raise TooManyMomentsError(int(total), begin, end, groups)
    return _cuts(
        np.append(starts, begin),
        np.append(lengths, longest),
        np.append(np.ones(len(starts)), earlier),
        schedule.rate,
    )


def row_piece_ends(schedule: Schedule, ready: GroupedRows | None) -> list[int]:
    """As `piece_ends`, for windows in rows: times of rows, after every AT_ONCE moments of them."""
    count = 0 if ready is None else len(ready.times)
    step = int(AT_ONCE / schedule.rate) if schedule.rate else count
    if ready is None or count <= step:
        return []
    times = np.sort(ready.times)
    return [cut for cut in np.unique(times[max(step, 1) :: max(step, 1)]).tolist() if cut > times[0]]


def _spans(ready: GroupedRows | None, end: int, reach: int) -> tuple[Int64, Int64, Array]:
    """Where rows begin to be answered, for how long, up to their group's next row; and float64[g], the sum by group."""
    if ready is None:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    starts = ready.times
    following = np.append(starts[1:], end)
    following[ready.spans[:, 1] - 1] = end
    lengths = np.clip(following - starts, 0, reach)
    return starts, lengths, np.add.reduceat(lengths.astype(np.float64), ready.spans[:, 0])


def _cuts(starts: Int64, lengths: Int64, weights: Array, rate: float) -> list[int]:
    """Times that cut spans, each with rate * weight moments in a microsecond, into pieces with as many moments each."""
    edges = np.concatenate([starts, starts + lengths])
    order = np.argsort(edges, kind="stable")
    edges, slopes = edges[order], np.cumsum(np.concatenate([weights, -weights])[order])
    passed = np.append(0, np.cumsum(np.diff(edges) * slopes[:-1])) * rate
    pieces = int(passed[-1] // AT_ONCE) + 1
    cuts = np.interp(np.arange(1, pieces) * (passed[-1] / pieces), passed, edges)
    return [cut for cut in np.unique(cuts.astype(np.int64)).tolist() if edges[0] < cut < edges[-1]]


def joined(answers: list[pa.RecordBatch]) -> pa.RecordBatch | None:
    """One batch of all, taken out of the list column by column, so that at most one column is in memory twice."""
    if len(answers) < 2:
        return answers.pop() if answers else None
    schema, pieces = answers[0].schema, [list(answer.columns)[::-1] for answer in answers]
    answers.clear()
    columns = [pa.concat_arrays([piece.pop() for piece in pieces]) for _ in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
