"""Calendar windows of heavy-hitters, compared with plain Python, moment by moment."""

import pyarrow as pa
import pytest
from calendar_oracle import asked_for, duration, micros, pushed, table, visits
from skyband.engines import local


@pytest.mark.parametrize("zone", ["Europe/Paris", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia"])
@pytest.mark.parametrize("backend", ["exact", "misra-gries"])
def test_totals_of_each_window_equal_those_of_plain_python(zone, backend):
    asked = asked_for(zone)["so far" if backend == "exact" else "whole"]
    rows = visits(zone, seed=7)
    query = {
        "kind": "heavy-hitters",
        "time": "ts",
        "object": "item",
        "every": str(asked.every),
        "k": 100,
        "windows": list(map(str, asked.windows)),
        "offset": duration(asked.offset),
    }
    found = pushed(query, table(rows), 9, {"total-ranker": backend})
    objects = {}
    for row in found.to_pylist():
        objects.setdefault((micros(row["at"]), row["window"]), {})[row["object"]] = row["total"]
    assert {key: len(totals) for key, totals in objects.items()} == {
        (at, window): count for at, window, count in asked.answers(rows) if count
    }
    assert found.equals(local.apply(table(rows), query, backends={"total-ranker": backend}))


@pytest.mark.parametrize("offset", [1, 250_000, 999_999])
@pytest.mark.parametrize("by", [[], ["group"]])
def test_days_that_begin_within_a_second_divide_its_rows(offset, by):
    """Rows a microsecond before a day begins, and at its begin, are in the same second but in different days."""
    day = 86_400_000_000
    ts = [day - 1, day + offset - 1, day + offset, day + offset + 1, 2 * day + offset - 1, 2 * day + offset]
    rows = pa.table({"ts": pa.array(ts, pa.timestamp("us", "UTC")), "group": [1] * len(ts), "item": [7] * len(ts)})
    query = {"kind": "heavy-hitters", "time": "ts", "by": by, "object": "item", "k": 1}
    query |= {"windows": ["1 day in UTC"], "every": "1 day in UTC", "offset": f"{offset} microseconds"}
    answers = local.apply(rows, query).sort_by("at").to_pylist()
    assert [(micros(row["at"]) - offset, row["total"]) for row in answers] == [
        (day, 2.0),
        (2 * day, 3.0),
        (3 * day, 1.0),
    ]
