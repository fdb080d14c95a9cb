"""The page with a leaderboard in a database: its job as it stands there, and what its dashboard asks."""

import re
import sqlite3
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner
from skyband.cli.commands import group

from .conftest import ROOT

PAGE = (ROOT / "core/docs/ask/leaderboard.md").read_text("utf-8")
JOB, ASKED = (re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)[1] for language in ("toml", "sql"))


def requests(folder, pages):
    """A page a minute, all of one host."""
    seconds = pa.array([60 * minute + 5 for minute in range(len(pages))], pa.timestamp("s", "UTC"))
    table = pa.table(
        {"ts": seconds.cast(pa.timestamp("us", "UTC")), "host": ["example.org"] * len(pages), "page": pages}
    )
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / "part.parquet")


def test_the_job_of_the_page_fills_what_its_dashboard_asks(tmp_path, monkeypatch):
    monkeypatch.setenv("BOARD_URL", "sqlite:///board.db")
    (tmp_path / "job.toml").write_text(JOB)
    requests(tmp_path / "requests", ["/a", "/b", "/b", "/c", "/b", "/c", "/d"])
    ran = CliRunner().invoke(group, ["run", str(tmp_path / "job.toml"), "--engine", "local"])
    assert ran.exit_code == 0, ran.stderr
    with closing(sqlite3.connect(tmp_path / "board.db")) as database:
        assert database.execute(ASKED).fetchall() == [(1, "/b", 3.0), (2, "/c", 2.0), (3, "/a", 1.0)]
        index = database.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'board'"
        ).fetchone()[0]
        assert "UNIQUE" in index and '("host", "window", "object")' in index, index
