"""Rows with faults of several kinds, each kind found in a turn of its own, are reported as they came."""

import numpy as np
import pyarrow as pa
from skyband.operator.row_encoding import encode
from skyband.queries import make_query

QUERY = {
    "kind": "distinct-count",
    "time": "ts",
    "item": "client",
    "windows": ["today in Asia/Tokyo"],
    "every": "1 hour",
    "source": "site",
    "sources": ["north", "south"],
    "bad_rows": "count",
}
KINDS = [(1, "north"), (253_400_000_000, "north"), (2**42, "east"), (3, "west"), (None, "south")]
FAULTS = [None, "ts", "ts", "site", None]


def test_however_faults_are_mixed_rows_are_reported_in_order_of_arrival():
    rng = np.random.default_rng(67)
    for _ in range(100):
        kinds = rng.integers(0, len(KINDS), int(rng.integers(1, 12))).tolist()
        times, sites = zip(*(KINDS[kind] for kind in kinds), strict=True)
        micros = [None if time is None else time * 1_000_000 for time in times]
        clients = [f"c{place}" for place in range(len(kinds))]
        rows = pa.record_batch({"ts": pa.array(micros, pa.timestamp("us")), "site": sites, "client": clients})
        bad = encode(make_query(QUERY), rows).bad
        told = [] if bad is None else zip(*(bad.column(name).to_pylist() for name in ("client", "_field")), strict=True)
        expected = [(client, FAULTS[kind]) for client, kind in zip(clients, kinds, strict=True) if FAULTS[kind]]
        assert [*told] == expected
