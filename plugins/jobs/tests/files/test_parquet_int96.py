"""The old times of Parquet, INT96, in years outside 64-bit nanoseconds: instants, as on Spark."""

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband.errors import InputError
from skyband_jobs.files.columnar_files import Layout
from skyband_jobs.files.source_files import open_files
from skyband_jobs.files.states_table import StatesTable
from skyband_jobs.tables.model import Source

DAYS = ["0001-01-01", "1582-10-15", "1676-12-31", "1969-12-31", "2026-02-28", "2263-01-01", "9999-12-31"]
INSTANTS = [dt.datetime.fromisoformat(f"{day}T23:59:59.999999").replace(tzinfo=dt.UTC) for day in DAYS]
_JULIAN_1970 = 2_440_588


def write(path, shape=lambda times: times, name="ts"):
    """INT96 of these days: pyarrow writes others, whose days are replaced in the file."""
    near = [dt.datetime(2000, 1, 1 + place, 23, 59, 59, 999_999) for place in range(len(DAYS))]
    table = pa.table({name: shape(pa.array(near, pa.timestamp("ns"))), "n": range(len(near))})
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False, "store_schema": False}
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, **plain)
    data = path.read_bytes()
    for one, other in zip(near, INSTANTS, strict=True):
        ending = ((86_400 * 10**6 - 1) * 1000).to_bytes(8, "little")
        old, new = (ending + (_JULIAN_1970 + day_of(time)).to_bytes(4, "little") for time in (one, other))
        assert data.count(old) == 1
        data = data.replace(old, new)
    path.write_bytes(data)


def day_of(time):
    return (time.date() - dt.date(1970, 1, 1)).days


@pytest.mark.parametrize("at_once", [True, False])
def test_times_of_all_years_are_read_as_they_were_written(tmp_path, at_once, monkeypatch):
    if not at_once:
        monkeypatch.setattr("skyband_jobs.files.columnar_files._SMALL", 0)
    write(tmp_path / "a.parquet")
    files = open_files(Source(format="parquet", path=str(tmp_path)))
    assert files.schema.field("ts").type == pa.timestamp("us", "UTC")
    rows = [row for batch in files.batches(["ts", "n"]) for row in batch.to_pylist()]
    assert [row["ts"] for row in rows] == INSTANTS
    years = open_files(Source(format="parquet", path=str(tmp_path), select=("year(ts) AS y",)))
    assert [row["y"] for batch in years.batches(["y"]) for row in batch.to_pylist()] == [one.year for one in INSTANTS]


def of_list(times):
    return pa.ListArray.from_arrays(list(range(len(times) + 1)), times)


def of_struct(times):
    return pa.StructArray.from_arrays([pa.array(range(len(times))), of_list(times)], ["k", "t"])


@pytest.mark.parametrize("shape", [of_list, of_struct])
def test_times_within_lists_and_structs_are_instants_too(tmp_path, shape):
    write(tmp_path / "a.parquet", shape)
    (batch,) = open_files(Source(format="parquet", path=str(tmp_path))).batches(["ts"])
    lists = [row["ts"] if shape is of_list else row["ts"]["t"] for row in batch.to_pylist()]
    assert lists == [[one] for one in INSTANTS]


def test_times_without_a_zone_that_are_no_int96_stay_so(tmp_path):
    pq.write_table(pa.table({"ts": pa.array([0], pa.timestamp("us"))}), tmp_path / "a.parquet")
    assert Layout("parquet").read_schema(tmp_path / "a.parquet").field("ts").type == pa.timestamp("us")


def test_the_moments_of_a_table_of_states_too(tmp_path):
    write(tmp_path / "a.parquet", name="at")
    with pytest.raises(InputError, match=r"the nearest are at 2263-01-01 23:59:59.999999 and 9999-12-31 23"):
        StatesTable(str(tmp_path / "a.parquet"), column="n").as_of(1 << 62)
