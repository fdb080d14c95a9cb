"""A stream that resumes after something has changed: what may change, and what is refused, with the change."""

import pyarrow as pa
import pytest
from families import events, family
from skyband.engines import local

from ..conftest import rows_of, up_to_watermark

pytestmark = pytest.mark.spark

ZONE = "spark.sql.session.timeZone"


def test_a_source_may_gain_columns_and_a_session_change_its_zone_but_no_column_its_type(session, files, stream):
    table, asked = events(1).sort_by("ts"), family("uncertain-join", by=["place"])
    earlier, later = table.slice(0, 700), table.slice(700)
    wider = later.append_column("agent", pa.array(["someone"] * len(later)))
    number = table.column_names.index("number")
    renamed = later.set_column(number, "number", later["number"].cast(pa.string()))
    folder = files(earlier, 2)
    stream(folder, asked)
    files(wider, 2)
    zone = session.conf.get(ZONE)
    session.conf.set(ZONE, "America/New_York")
    try:
        got, progress = stream(folder, asked, like=files(wider, 1, "wider"))
    finally:
        session.conf.set(ZONE, zone)
    assert sum(entry.observedMetrics["skyband"]["rows_late"] for entry in progress) == 0
    expected = up_to_watermark(local.apply(table, asked), table, asked)
    assert rows_of(got, expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)

    files(renamed, 1)
    with pytest.raises(Exception, match=r"another job \(column number was int64, is string\): change it back, or give"):
        stream(folder, asked, like=files(renamed, 1, "renamed"))
