"""A time without a zone is UTC: the zone of the machine that reads it does not matter."""

import datetime as dt
import time

import numpy as np
import pyarrow as pa
import pytest
from skyband.instants import instant
from skyband.states.since_or_last import moment_of
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source

NAIVE = dt.datetime(2026, 3, 29, 2, 30, 0, 250_000)
"""A time that does not exist in Berlin, where clocks go forward that night."""
MOMENT = int(NAIVE.replace(tzinfo=dt.UTC).timestamp() * 4) * 250_000
BERLIN = dt.timezone(dt.timedelta(hours=2))


@pytest.fixture(params=["UTC", "Europe/Berlin", "Asia/Kolkata", "Pacific/Kiritimati", "America/St_Johns"])
def machine(request, monkeypatch):
    """A machine in this zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_a_moment_is_asked_for_in_utc(machine):
    ways = [
        NAIVE,
        NAIVE.isoformat(),
        NAIVE.isoformat(" "),
        MOMENT,
        np.datetime64(MOMENT, "us"),
        NAIVE.replace(tzinfo=dt.UTC),
        f"{NAIVE.isoformat()}Z",
        f"{NAIVE.isoformat()}+00:00",
        NAIVE.replace(tzinfo=dt.UTC).astimezone(BERLIN),
        pa.scalar(MOMENT, pa.timestamp("us", "UTC")),
        pa.scalar(MOMENT, pa.timestamp("us")),
        pa.scalar(MOMENT, pa.timestamp("us", "Asia/Tokyo")),
    ]
    assert [moment_of(way) for way in ways] == [MOMENT] * len(ways), machine


def test_a_moment_is_shown_in_utc(machine):
    assert instant(MOMENT).plain().startswith("2026-03-29 02:30:00"), machine


@pytest.mark.parametrize("format", ["csv", "json"])
def test_rows_of_text_are_read_in_utc(machine, format, tmp_path):
    text = NAIVE.isoformat()
    (tmp_path / "a").write_text(f"{text}\n" if format == "csv" else f'{{"ts": "{text}"}}\n')
    files = open_files(Source(format=format, path=str(tmp_path), schema="ts TIMESTAMP"))
    assert [batch["ts"].cast(pa.int64()).to_pylist() for batch in files.batches(["ts"])] == [[MOMENT]], machine
