"""Of each group row-features keeps the rows of the longest window of its last row, and no others."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines.local import LocalRun
from skyband.queries import make_query

SECOND = 1_000_000
EPOCH, TICK = datetime(1970, 1, 1), timedelta(microseconds=1)
REASONS = {"nan": "value no number", repr(2.0**60): "value above 2^53 units", "0.5": "value no multiple of unit"}


def stream(rng):
    """Rows in the order of time, in groups that fall silent for as long as a window, some with values of no sum."""
    size = int(rng.integers(20, 60))
    seconds = np.cumsum(rng.choice([0, 0, 1, 2, 5, 10], size))
    values = [rng.choice([1.0, -2.0, *map(float, REASONS)], size) for _ in range(2)]
    return pa.table(
        {
            "t": pa.array(seconds * SECOND, pa.timestamp("us")),
            "group": rng.integers(0, 4, size),
            "one": values[0],
            "other": values[1],
        }
    )


def rows_of_groups(rows, span, watermark):
    """{group: rows}: those before the watermark that a later row may look back to."""
    times = rows.column("t").cast(pa.int64()).to_numpy()
    groups = rows.column("group").to_numpy()
    kept = {}
    for group in np.unique(groups[times < watermark]).tolist():
        own = times[(groups == group) & (times < watermark)]
        if own[-1] + span > watermark:
            kept[group] = int(np.count_nonzero(own > own[-1] - span))
    return kept


def rows_by_reason(rows):
    """{reason: rows}: a row counts once for a reason, whatever the number of its values."""
    reasons = [{REASONS.get(repr(row[name])) for name in ("one", "other")} - {None} for row in rows]
    return dict(Counter(why for of_row in reasons for why in of_row))


@pytest.mark.filterwarnings("ignore:.* rows have a value")
@pytest.mark.parametrize("seed", range(8))
def test_a_group_is_held_while_a_later_row_may_look_back_to_it(seed):
    rng = np.random.default_rng([67, seed])
    before, length = bool(seed % 2), int(rng.choice([2, 5, 10]))
    keys = {"kind": "row-features", "time": "t", "by": ["group"], "windows": ["1 second", f"{length} seconds"]}
    query = make_query({**keys, "sums": ["one", "other"], "unit": 1, "before": before})
    rows = stream(rng)
    reached = EPOCH
    run, span = LocalRun.start(query, rows.schema), length * SECOND + before
    cuts = 1 + np.flatnonzero(rng.random(len(rows) - 1) < 0.5)
    for begin, end in pairwise([0, *cuts.tolist(), len(rows)]):
        run.push(rows.slice(begin, end - begin).to_batches()[0])
        metrics = run.operator.take_metrics()
        kept = rows_of_groups(rows.slice(0, end), span, run.watermark)
        assert (metrics.groups, metrics.retained) == (len(kept), sum(kept.values())), (end, kept)
        came = [row for row in rows.slice(0, end).to_pylist() if reached <= row["t"] < EPOCH + run.watermark * TICK]
        assert {why: count for why, count in metrics.dropped.items() if count} == rows_by_reason(came)
        reached = EPOCH + run.watermark * TICK
        if rng.random() < 0.2:
            resumed = LocalRun.start(query, rows.schema)
            resumed.restore(run.snapshot())
            run = resumed
