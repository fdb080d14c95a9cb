"""Windows of a zone's calendar and heavy-hitters: against plain Python, a moment at a time."""

import pytest
from calendar_oracle import asked_for, duration, micros, pushed, table, visits
from skyband.engines import local


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
