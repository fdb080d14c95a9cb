"""A leaderboard of pages by host: the visits it is made of, its job, and what a table of its newest answers holds."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner, Result
from skyband.cli.commands import group
from skyband.engines import local

QUERY = {
    "kind": "heavy-hitters",
    "time": "ts",
    "object": "page",
    "by": ["host"],
    "k": 2,
    "windows": ["10 seconds", "20 seconds"],
    "every": "10 seconds",
}
KEY = ["host", "window", "object"]
NAMES = ("host", "window", "rank", "object", "total")
OTHER_COLUMNS = ("query.kind=distinct-count", "query.item=page", "-query.object", "-query.k")
"""Changes that make it a question with other answers."""
JOB = """
[source]
format = "parquet"
path = "visits.parquet"

[query]
kind = "heavy-hitters"
time = "ts"
object = "page"
by = ["host"]
k = 2
windows = ["10 seconds", "20 seconds"]
every = "10 seconds"
answers = "current"

[sink]
table = "board"
"""


def visits() -> pa.Table:
    """Eleven, of which one has no page."""
    seconds = [1, 2, 3, 4, 11, 12, 13, 22, 23, 24, 41]
    return pa.table(
        {
            "ts": pa.array(seconds, pa.timestamp("s", "UTC")),
            "page": ["/a", "/a", "/b", None, "/b", "/b", "/c", "/c", "/a", "/a", "/c"],
            "host": ["x", "x", "x", "x", "x", "y", "y", "y", "x", "x", "y"],
        }
    )


def in_order(rows) -> list[tuple[object, ...]]:
    """The values of rows by `NAMES`, sorted."""
    return sorted((tuple(row[name] for name in NAMES) for row in rows), key=repr)


def newest(rows: pa.Table) -> list[tuple[object, ...]]:
    """What stands in the last answer of each group and window, out of whole answers and their moments."""
    answers = local.apply(rows, QUERY).to_pylist()
    last = max(row["at"] for row in answers)
    return in_order(row for row in answers if row["at"] == last)


class BoardJob:
    """A folder with the visits and the job; called, it runs a command of the command line there.

    sink: the lines of the job that say the format, and where the table is.
    """

    def __init__(self, home: Path, sink: str) -> None:
        self.path = home / "job.toml"
        pq.write_table(visits(), home / "visits.parquet")
        self.path.write_text(JOB + sink)

    def __call__(self, command: str = "run", *sets: str, engine: str = "local") -> Result:
        changes = [part for change in sets for part in ("--set", change)]
        return CliRunner().invoke(group, [command, str(self.path), "--engine", engine, *changes])
