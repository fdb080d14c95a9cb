"""The demo, without Spark: the same on every machine, its late rows late, its answers within the bound."""

import numpy as np
import pyarrow.parquet as pq
from skyband_distinct.demo.weblog import FILES, LATE_FILES, make_weblog


def test_the_demo_runs_and_its_answers_are_within_the_bound(folder):
    shown = folder.call("demo", "--engine", "local", "--rows", "20000", "--dir", folder.home / "demo")
    assert shown.exit_code == 0, shown.stderr
    header, *rows = [line.split("  ") for line in shown.stdout.splitlines()[:9]]
    assert [cell.strip() for cell in header if cell] == ["at", "window", "count", "low", "high", "exact"]
    for row in rows:
        _, _, count, low, high, exact = [cell.strip() for cell in row if cell.strip()]
        assert int(low) <= int(count) <= int(high)
        assert abs(int(count) - int(exact)) <= 0.05 * int(exact)
    assert "█" in shown.stdout
    assert "94 answers; the largest error is" in shown.stdout
    late = make_weblog(20000).late.sum()
    first = shown.stderr.splitlines()[0]
    assert f"of one day, {late} late, in 12 Parquet files." in first and len(first) <= 80
    assert max(len(line) for line in shown.stdout.splitlines()) <= 80, "it fits a terminal"
    assert f"late     {late} (dropped;" in shown.stderr


def test_what_it_suggests_works(folder):
    home = folder.home / "demo"
    shown = folder.call("demo", "--engine", "local", "--rows", "10000", "--dir", home)
    calls = [line.split() for line in shown.stderr.splitlines() if line.startswith("   skyband ")]
    assert len(calls) == 3
    for call in calls:
        extra = ["--rows", "10000", "--dir", folder.home / "again"] if call[1] == "demo" else []
        called = folder.call(*call[1:], *extra)
        assert called.exit_code == 0, called.stderr


def test_a_folder_in_use_is_left_alone(folder):
    called = folder.call("demo", "--engine", "local", "--dir", folder.home)
    assert called.exit_code == 2
    assert "is not empty; name a new folder" in called.stderr


def test_the_log_is_the_same_each_time_and_every_late_row_is_behind(tmp_path):
    log = make_weblog(30_000)
    again = make_weblog(30_000)
    for name in ("times", "clients", "late"):
        assert (getattr(log, name) == getattr(again, name)).all()
    log.write(tmp_path / "log")
    files = [pq.read_table(path) for path in sorted((tmp_path / "log").iterdir())]
    assert len(files) == FILES
    np.testing.assert_array_equal(np.concatenate([file["ts"].cast("int64") for file in files]), log.times)
    starts = np.cumsum([0, *(len(file) for file in files)])
    delay = 5 * 60 * 1_000_000
    for number in range(LATE_FILES, FILES):
        rows = slice(starts[number], starts[number + 1])
        watermark = log.times[: starts[number]].max() - delay
        assert ((log.times[rows] < watermark) == log.late[rows]).all()
    assert 0 < log.late.sum() < 30
