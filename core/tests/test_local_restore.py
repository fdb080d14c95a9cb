"""A local run that resumes from a snapshot ends like one that never stopped."""

import pyarrow as pa
import pytest
from skyband.engines.local import LocalRun

ROWS = pa.table({"ts": pa.array([0, 30, 90, 200], pa.timestamp("s", "UTC")), "who": ["a", "b", "a", "c"]})
QUERY = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 minute"], "every": "1 minute"}


@pytest.mark.parametrize("more", [{}, {"ahead": "1 hour"}])
def test_the_end_is_answered_after_a_restore_without_further_rows(more):
    pytest.importorskip("skyband_distinct")
    run, again = (LocalRun.start({**QUERY, **more}, ROWS.schema) for _ in range(2))
    run.push(ROWS.to_batches()[0])
    again.restore(run.snapshot())
    expected = run.finish()
    assert len(expected) and again.finish().equals(expected)
