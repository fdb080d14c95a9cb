"""Windows of a zone's calendar and quantiles: against plain Python, moment by moment."""

import pyarrow as pa
import pytest
from calendar_oracle import asked_for, duration, micros, pushed, table, visits
from skyband.engines import local


@pytest.mark.parametrize("zone", ["Europe/Paris", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia"])
def test_rows_of_each_window_as_counted_in_plain_python(zone):
    asked = asked_for(zone)["so far"]
    rows = visits(zone, seed=7)
    source = table(rows)
    source = source.append_column("number", pa.array(range(len(source))))
    query = {
        "kind": "quantiles",
        "time": "ts",
        "value": "number",
        "every": str(asked.every),
        "at": [0, 0.5, 1],
        "windows": list(map(str, asked.windows)),
        "offset": duration(asked.offset),
    }
    found = pushed(query, source, 9, {})
    held = {(micros(row["at"]), row["window"]) for row in found.to_pylist()}
    assert held == {(at, window) for at, window, count in asked.answers(rows) if count}
    assert found.equals(local.apply(source, query))
