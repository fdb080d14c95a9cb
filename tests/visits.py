"""Visits to two sites as files, and a job that counts their visitors: what is done with rows that are bad or late."""

import datetime
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner, Result
from skyband.cli.commands import group

JOB = """
[source]
format = "{format}"
path = "visits"
schema = "ts TIMESTAMP, site STRING, client STRING"
[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["1 minute"]
every = "1 minute"
source = "site"
sources = ["north", "south"]
{query}
[backends]
sketch = "exact"
[sink]
format = "json"
path = "counts"
"""
STREAM = "source.stream=true", "source.options.maxFilesPerTrigger=1", "sink.trigger=available-now"
"""Changes of the job: a file in each micro-batch, until all have been read."""
CHECKPOINT = "sink.checkpoint=checkpoint"
"""What a stream on Spark needs besides."""


def place(name: str, format: str = "json") -> str:
    """A key of the query that puts rows aside: `bad` or `late`, which is their folder too."""
    return f'{name}_rows = {{ format = "{format}", path = "{name}" }}'


def visit(minute: int, second: int, client: str | None, site: str | None = None) -> dict[str, str | None]:
    """A visit; to the north in even seconds, else to the south."""
    return {
        "ts": f"2026-01-01T00:{minute:02}:{second:02}Z",
        "site": ("north", "south")[second % 2] if site is None else site,
        "client": client,
    }


class Visits:
    """A folder with files of visits and the job; `run` calls the command line there."""

    def __init__(self, home: Path, engine: str, format: str = "json") -> None:
        self.home, self.engine, self.format = home, engine, format
        self.source = home / "visits"
        self.source.mkdir()

    def write(self, name: str, visits: list[dict[str, str | None]], age: float | None = None) -> Path:
        """Write a file of lines; streams take the files by their age, the oldest first."""
        path = self.source / f"{name}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in visits))
        if age is not None:
            os.utime(path, (age, age))
        return path

    def as_parquet(self, path: Path, row_group_size: int | None = None) -> Path:
        """Make a file of lines one of Parquet, of the same age."""
        age, rows = path.stat().st_mtime, [json.loads(line) for line in path.read_text().splitlines()]
        path.unlink()
        rows = [{**row, "ts": datetime.datetime.fromisoformat(row["ts"])} for row in rows]
        table = pa.Table.from_pylist(rows)
        made = path.with_suffix(".parquet")
        pq.write_table(table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", "UTC"))), made, row_group_size)
        os.utime(made, (age, age))
        return made

    def run(self, query: str, *sets: str, command: str = "run") -> Result:
        """Run, or check, the job with these keys of its query and changes besides."""
        job, text = self.home / "job.toml", JOB.format(query=query, format=self.format)
        if not job.exists() or job.read_text() != text:  # a disk that is full has it already
            job.write_text(text)
        changes = [part for change in sets for part in ("--set", change)]
        return CliRunner().invoke(group, [command, "job.toml", "--engine", self.engine, *changes])

    def lines(self, name: str) -> list[dict[str, object]]:
        """The rows that are in a folder, of micro-batches too."""
        paths = sorted(path for path in (self.home / name).rglob("*.json") if not path.name.startswith(("_", ".")))
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]

    def holds(self, name: str) -> bool:
        """Whether a folder has any file that a reader would see."""
        return any(path.name.startswith(("part", "shard")) for path in (self.home / name).rglob("*"))
