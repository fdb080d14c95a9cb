"""A state whose watermark is before what its groups have come to is refused when it is restored."""

import numpy as np
import pyarrow as pa
import pytest
from rules_frames import DistinctFrame, QuantilesFrame, TotalsFrame, WorkloadFrame
from rules_oracle import SECOND, Rule, rules_table
from skyband import SnapshotError, snapshot
from skyband.engines.local import LocalRun
from skyband.queries import make_query
from small_group_queries import at_most

FRAMES = (WorkloadFrame, TotalsFrame, QuantilesFrame, DistinctFrame)


def events(frame):
    rows = sorted(frame().random_rows(np.random.default_rng(3), 60), key=lambda row: row[0])
    columns = {name: [row[place] for row in rows] for place, name in enumerate(frame.columns)}
    times = [time * SECOND for time in columns["ts"]]
    places = [str(place) for place in columns["place"]]
    return pa.table({**columns, "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us")), "place": places})


@pytest.mark.parametrize("most", [0, 4096], ids=["processors", "small groups"])
@pytest.mark.parametrize("by", [[], ["place"]], ids=["one group", "groups"])
@pytest.mark.parametrize("frame", FRAMES)
def test_a_watermark_before_what_groups_with_rules_have_reached_is_refused(frame, by, most, monkeypatch):
    at_most(most, monkeypatch)
    table = events(frame)
    query = make_query({**frame.keys, **frame.limits, "by": by})
    run = LocalRun.start(query, table.schema)
    run.broadcast(rules_table([Rule("quick", 9, slide=1)], k="most" in frame.limits))
    run.push(table.to_batches()[0])
    state = snapshot.decode(run.operator.snapshot())
    watermark = state.header["watermark"]
    latest = table["ts"].cast(pa.int64()).to_pylist()
    latest = max(time for time in latest if time < watermark)
    for earlier in (latest, latest - 1, latest - 10 * SECOND, -(2**61), None):
        blob = snapshot.encode(state.header | {"watermark": earlier}, dict(state.arrays))
        with pytest.raises(SnapshotError):
            LocalRun.start(query, table.schema).operator.restore(blob)
    LocalRun.start(query, table.schema).operator.restore(snapshot.encode(state.header, dict(state.arrays)))
