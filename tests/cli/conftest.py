"""A folder with a small log and a job, and the command line to call on it."""

import datetime
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group

JOB = """
[source]
format = "parquet"
path = "requests"

[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["10 minutes", "1 hour"]
every = "5 minutes"

[backends]
sketch = "exact"

[sink]
format = "parquet"
path = "counts"
"""


class Folder:
    """A job with its source; `call` runs the command line there."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "requests").mkdir()
        start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        for number in range(3):
            times = [start + datetime.timedelta(minutes=20 * number + minute) for minute in range(20)]
            clients = [f"client {minute % (5 + number)}" for minute in range(19)] + [None]
            table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "client": clients})
            pq.write_table(table, home / "requests" / f"{number}.parquet")
        self.job = home / "job.toml"
        self.job.write_text(JOB)

    def call(self, *arguments, **environment):
        return CliRunner().invoke(group, [str(entry) for entry in arguments], env={"COLUMNS": None, **environment})

    def run(self, *sets, engine="local"):
        changes = [part for change in sets for part in ("--set", change)]
        return self.call("run", self.job, "--engine", engine, *changes)

    def answers(self, name="counts"):
        table = pq.read_table(self.home / name)
        return [
            (row["at"].strftime("%H:%M"), row["window"], row["count"])
            for row in table.sort_by([("at", "ascending"), ("window", "ascending")]).to_pylist()
        ]


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def no_java(tmp_path, monkeypatch):
    """A PATH with no Java on it."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    bare = tmp_path / "bin"
    bare.mkdir()
    python = shutil.which("python3")
    if python:
        (bare / "python3").symlink_to(python)
    monkeypatch.setenv("PATH", str(bare))
