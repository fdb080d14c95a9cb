"""Jobs on the local engine: answers in files or on the console, nothing half-written, everything counted."""

import json
import math
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from skyband_jobs.local import run as run_local


def by_hand(folder, delay_to=60):
    """The answers of the job, counted: rows 0..59 are a minute apart."""
    rows = [row for path in sorted((folder.home / "requests").iterdir()) for row in pq.read_table(path).to_pylist()]
    expected = []
    for at in range(5, delay_to + 1, 5):
        for length, name in ((10, "10 minutes"), (60, "1 hour")):
            inside = {row["client"] for row in rows[max(0, at - length) : at]} - {None}
            expected.append((f"{at // 60:02}:{at % 60:02}", name, float(len(inside))))
    return sorted(expected)


def summary_of(lines):
    """The summary by names; a run that compiles says how long before it, where that takes seconds."""
    return {name: value.strip() for name, _, value in (line.partition("  ") for line in lines) if value}


def test_a_batch_answers_up_to_the_moment_after_its_last_row(folder):
    ran = folder.run()
    assert ran.exit_code == 0, ran.stderr
    assert ran.stdout == ""
    assert folder.answers() == by_hand(folder)
    summary = summary_of(ran.stderr.splitlines())
    assert {name: value for name, value in summary.items() if name != "took"} == {
        "rows in": "60",
        "late": "0 (dropped)",
        "null item": "3 (left out)",
        "answers": f"24 in {folder.home / 'counts'}",
        "state": summary["state"],
    }
    assert "micro-batch" not in summary["took"]


def test_a_stream_answers_up_to_its_watermark(folder):
    ran = folder.run("source.stream=true", "query.delay=7 minutes")
    assert ran.exit_code == 0, ran.stderr
    assert folder.answers() == by_hand(folder, 50)
    assert "3 micro-batches" in ran.stderr


@pytest.mark.parametrize("finish", ["true", "false"])
@pytest.mark.parametrize("files", [None, 1, 2, 3, 4])
def test_every_row_and_micro_batch_is_counted_whatever_a_step_takes(folder, files, finish):
    """The end of the input is no micro-batch: it brings no rows."""
    sets = [] if files is None else [f"source.options.maxFilesPerTrigger={files}"]
    ran = folder.run("source.stream=true", "sink.trigger=available-now", f"source.finish={finish}", *sets)
    assert ran.exit_code == 0, ran.stderr
    summary = summary_of(ran.stderr.splitlines())
    assert (summary["rows in"], summary["null item"]) == ("60", "3 (left out)")
    steps = -(-3 // (files or 1))
    assert f", {steps} micro-batch{'es' if steps > 1 else ''}" in summary["took"]
    assert summary["answers"].startswith(f"{len(folder.answers())} in ")


def test_late_rows_are_counted(folder):
    first = folder.home / "requests" / "0.parquet"
    first.rename(folder.home / "requests" / "3.parquet")
    (folder.home / "requests" / "3.parquet").touch()
    ran = folder.run("source.stream=true", "query.delay=5 minutes")
    assert "late       19 (dropped;" in ran.stderr or "late       20 (dropped)" in ran.stderr


def test_rows_that_a_backend_leaves_out_are_counted(folder):
    """Of 57 reports in one hour by seven clients, the first of each stands; a stream's last still waits."""
    keys = {"kind": "top-k", "time": "ts", "object": "client", "stream": "host", "value": "bytes", "streams": ["a"]}
    query = {**keys, "k": 2, "window": "1 hour", "every": "5 minutes", "repeats": "never"}
    for path in sorted((folder.home / "requests").iterdir()):
        table = pq.read_table(path)
        rest = {"host": ["a"] * len(table), "bytes": [0.5] * len(table)}
        pq.write_table(pa.table({"ts": table["ts"], "client": table["client"], **rest}), path)
    folder.job.write_text(
        "\n".join(
            ["[source]", 'format = "parquet"', 'path = "requests"', "[query]"]
            + [f"{name} = {json.dumps(value)}" for name, value in query.items()]
            + ["[sink]", 'format = "parquet"', 'path = "counts"']
        )
    )
    for repeated, *sets in ((50,), (49, "source.stream=true", "sink.path=others")):
        ran = folder.run(*sets)
        assert ran.exit_code == 0, ran.stderr
        *lines, warning = ran.stderr.splitlines()
        summary = summary_of(lines)
        assert warning.startswith(f'warning: {repeated} of 60 rows break the promise repeats = "never" and count in no')
        assert summary["rows in"] == "60"
        assert summary["null object"] == "3 (left out)"
        assert summary["repeated report"] == f"{repeated} (left out)"


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_every_format_has_the_same_answers(folder, format):
    assert folder.run(f"sink.format={format}").exit_code == 0
    (path,) = (folder.home / "counts").glob("[!_]*")
    assert path.name == f"part-00000.{format}"
    if format == "parquet":
        rows = pq.read_table(path).to_pylist()
    elif format == "csv":
        rows = pyarrow.csv.read_csv(path).to_pylist()
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    counts = defaultdict(list)
    for row in rows:
        counts[row["window"]].append(float(row["count"]))
    expected = defaultdict(list)
    for _, window, count in by_hand(folder):
        expected[window].append(count)
    assert counts == expected


def test_csv_has_no_header_if_the_job_says_so(folder):
    assert folder.run("sink.format=csv", "sink.options.Header=false").exit_code == 0
    (path,) = (folder.home / "counts").glob("[!_]*")
    assert path.read_text().splitlines()[0].startswith("2026-01-01")


def test_the_console_shows_estimates_of_whole_numbers_as_whole_numbers(folder):
    """With few registers the estimates have fractions, which the files keep."""
    sets = ('backends.sketch={ name = "hll-panes", epsilon = 0.1 }', 'query.windows=["10 minutes"]')
    assert folder.run(*sets, "sink.format=csv").exit_code == 0
    (path,) = (folder.home / "counts").glob("[!_]*")
    kept = pyarrow.csv.read_csv(path)
    ran = folder.run(*sets, "sink.format=console")
    shown = [line.split()[-3:] for line in ran.stdout.splitlines()[1:]]
    assert shown == [
        [str(round(count)), str(math.floor(low)), str(math.ceil(high))]
        for count, low, high in zip(*(kept[name].to_pylist() for name in ("count", "low", "high")), strict=True)
    ]
    assert any(count != round(count) for count in kept["low"].to_pylist())


@pytest.mark.parametrize("stream", ["true", "false"])
def test_the_console_shows_the_answers_on_stdout(folder, stream):
    ran = folder.run("sink.format=console", f"source.stream={stream}", 'query.windows=["10 minutes"]')
    lines = [line.split() for line in ran.stdout.splitlines()]
    assert lines[0] == ["at", "window", "count", "low", "high"]
    assert lines[1] == ["2026-01-01", "00:05:00", "10", "minutes", "5", "5", "5"]
    assert len(lines) == (12 if stream == "true" else 13)
    assert "shown above" in ran.stderr


def test_existing_answers_are_not_mixed_with_new_ones(folder):
    assert folder.run().exit_code == 0
    again = folder.run()
    assert again.exit_code == 1
    assert "sink.path: " in again.stderr
    assert 'choose another path, or set sink.mode to "overwrite" or "append"' in again.stderr
    assert folder.answers() == by_hand(folder)


@pytest.mark.parametrize(("mode", "files"), [("append", 2), ("overwrite", 1), ("ignore", 1)])
def test_what_is_done_if_there_are_answers(folder, mode, files):
    folder.run()
    ran = folder.run(f"sink.mode={mode}")
    assert ran.exit_code == 0, ran.stderr
    assert len(list((folder.home / "counts").glob("[!_]*"))) == files
    assert len(folder.answers()) == files * 24


def test_a_run_that_fails_leaves_the_old_answers_and_nothing_half_written(folder):
    folder.run()
    before = by_hand(folder)
    table = pq.read_table(folder.home / "requests" / "2.parquet")
    never = pa.array([2**62], pa.int64()).cast(table.schema.field("ts").type)
    pq.write_table(table.slice(0, 1).set_column(0, "ts", never), folder.home / "requests" / "9.parquet")
    ran = folder.run("sink.mode=overwrite")
    assert ran.exit_code == 1
    last = folder.home / "requests" / "9.parquet"
    assert ran.stderr.startswith(f"error: {last}: ts, row 0: {2**62} is out of range")
    assert folder.answers() == before
    there = sorted(path.name for path in (folder.home / "counts").iterdir())
    assert there == ["_skyband.sha256", "part-00000.parquet"]


@pytest.mark.parametrize(("stream", "kept"), [("true", True), ("false", False)])
def test_an_interrupt_keeps_what_a_stream_has_answered(folder, monkeypatch, stream, kept):
    taken = run_local.take_metrics

    def interrupted(held, totals, progress):
        taken(held, totals, progress)
        if totals.rows_in >= 40:  # small files come together
            raise KeyboardInterrupt

    monkeypatch.setattr(run_local, "take_metrics", interrupted)
    ran = folder.run(f"source.stream={stream}")
    assert ran.exit_code == 130
    assert "Traceback" not in ran.stderr
    if kept:
        assert "stopped" in ran.stderr
        assert folder.answers() == by_hand(folder, 35)
    else:
        assert list((folder.home / "counts").iterdir()) == []


def test_a_backend_is_changed_by_one_option(folder):
    assert folder.run("backends.sketch=pcsa-ml", "sink.path=other").exit_code == 0
    assert folder.answers("other") == by_hand(folder), "counts this small are exact"


def test_groups(folder):
    ran = folder.run("query.by=client", 'query.windows=["10 minutes"]', "sink.format=console")
    assert ran.exit_code == 0, ran.stderr
    assert ran.stdout.split()[0] == "client"
    assert "groups" in ran.stderr


def add_row(folder, at, client="late in time"):
    """One row more, in a file of its own that comes last."""
    kind = pa.timestamp("us", "UTC")
    far = pa.array([int(np.datetime64(at, "us").astype(np.int64))], kind)
    pq.write_table(pa.table({"ts": far, "client": [client]}), folder.home / "requests" / "9.parquet")


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "console"])
@pytest.mark.parametrize("at", ["12000-01-01T00:00:00", "9999-12-31T23:59:59", "-0044-03-15T12:00:00"])
def test_no_year_ends_a_stream(folder, monkeypatch, format, at):
    """The progress line is written after every batch, the console and JSON write the year, and so does the summary."""
    monkeypatch.setattr("skyband_jobs.job.progress.EVERY_PLAIN", 0.0)
    add_row(folder, at)
    for sets in (["source.stream=true", "source.finish=true", "sink.trigger=available-now"], ["sink.path=others"]):
        ran = folder.run(f"sink.format={format}", "query.by=client", *sets)
        assert ran.exit_code == 0, ran.stderr
        assert "rows in    61" in ran.stderr
        written = ran.stdout if format == "console" else ""
        for path in (folder.home / "others" if "others" in sets[0] else folder.home / "counts").glob(f"*.{format}"):
            written += str(pq.read_table(path)["at"].cast(pa.int64())) if format == "parquet" else path.read_text()
        assert written
        if format in ("console", "json") and not at.startswith("-"):
            assert "+12000-01-01" in written or "+10000-01-01" in written


def test_a_comparison_is_told_in_any_year(folder, tmp_path):
    pytest.importorskip("vl_convert")
    add_row(folder, "12000-01-01T00:00:00")
    every = "query.every=365 days"
    page = tmp_path / "page.html"
    ran = folder.call("compare", folder.job, "--backends", "sketch=exact,pcsa-ml", "--set", every, "--html", page)
    assert ran.exit_code == 0, ran.stderr
    assert page.read_text().count("+11") >= 1
