"""Windows of a zone's calendar and heavy-hitters: against plain Python, a moment at a time."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from calendar_oracle import asked_for, duration, micros, pushed, table, visits
from skyband.engines import local
from skyband.engines.local import LocalRun


@pytest.mark.parametrize("zone", ["Europe/Paris", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia"])
@pytest.mark.parametrize("backend", ["exact", "misra-gries"])
def test_totals_of_each_window_as_counted_in_plain_python(zone, backend):
    asked = asked_for(zone)["so far" if backend == "exact" else "whole"]
    rows = visits(zone, seed=7)
    query = {"kind": "heavy-hitters", "time": "ts", "object": "item", "every": str(asked.every), "k": 100,
             "windows": list(map(str, asked.windows)), "offset": duration(asked.offset)}  # fmt: skip
    found = pushed(query, table(rows), 9, {"total-ranker": backend})
    objects = {}
    for row in found.to_pylist():
        objects.setdefault((micros(row["at"]), row["window"]), {})[row["object"]] = row["total"]
    assert {key: len(totals) for key, totals in objects.items()} == {
        (at, window): count for at, window, count in asked.answers(rows) if count
    }
    assert found.equals(local.apply(table(rows), query, backends={"total-ranker": backend}))


ODD = [
    ("Africa/Monrovia", "1972-01-05", "00:00"),
    ("Europe/Paris", "1911-03-10", "06:30"),
    ("America/St_Johns", "2011-03-13", "00:30"),
]
"""Zones with seconds in their offsets until about then, and one whose clock last jumped from 00:01."""


@pytest.mark.parametrize("since", [-40, 1, 20], ids=lambda days: f"{days} days")
@pytest.mark.parametrize(("zone", "change", "clock"), ODD)
@pytest.mark.parametrize("backend", ["exact", "frequent-items-panes"])
def test_zones_whose_clocks_differed_by_seconds(zone, change, clock, since, backend):
    """Each answer has as many objects as are distinct in its window, which another query counts without panes."""
    rng = np.random.default_rng(5)
    begin = (np.datetime64(change, "us") + np.timedelta64(since, "D")).astype(np.int64)
    times = begin + np.sort(rng.integers(0, 60 * 86_400_000_000, 900))
    rows = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "item": rng.integers(0, 40, 900)})
    keys = {"time": "ts", "every": f"1 day in {zone}", "windows": [f"since {clock} in {zone}", f"1 month in {zone}"]}
    top = {"kind": "heavy-hitters", "object": "item", "k": 100, **keys}
    counted = local.apply(rows, {"kind": "distinct-count", "item": "item", **keys}, {"sketch": "exact"})
    halves = LocalRun.start(top, rows.schema, {"total-ranker": backend})
    found = [halves.push(rows.slice(0, 450).to_batches()[0])]
    again = LocalRun.start(top, rows.schema, {"total-ranker": backend})
    again.operator.restore(halves.operator.snapshot())
    found += [again.push(rows.slice(450).to_batches()[0]), again.finish()]
    objects = Counter((row["at"], row["window"]) for row in pa.Table.from_batches(found).to_pylist())
    assert objects == {(row["at"], row["window"]): row["count"] for row in counted.to_pylist() if row["count"]}
