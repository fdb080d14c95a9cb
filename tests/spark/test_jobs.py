"""Jobs on Spark: the same answers as the local engine, streams that resume, errors in one sentence."""

import os
import re
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.queries import examples_of, kinds, load_query
from skyband_distinct.demo.weblog import make_weblog
from skyband_jobs.running import backend_choice
from skyband_specs.queries.checks import query_checks
from skyband_specs.queries.runner import query_subject, verify_query_subject

pytestmark = pytest.mark.spark

JOB = """
[source]
format = "parquet"
path = "requests"

[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["1 hour", "6 hours"]
every = "30 minutes"
delay = "5 minutes"

[backends]
sketch = "exact"

[sink]
format = "parquet"
path = "counts"
"""
STREAM = ["source.stream=true", "source.options.maxFilesPerTrigger=1", "sink.trigger=available-now"]
LARGE = "source.options.maxFilesPerTrigger=6"
"""Two micro-batches, where more would tell nothing."""

LOG = make_weblog(12_000)


@pytest.fixture
def job(tmp_path):
    LOG.write(tmp_path / "requests")
    for number, path in enumerate(sorted((tmp_path / "requests").iterdir())):
        os.utime(path, (1_000_000_000 + number,) * 2)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path / "job.toml"


def run(job, *sets, engine="spark"):
    changes = [part for change in sets for part in ("--set", change)]
    return CliRunner().invoke(group, ["run", str(job), "--engine", engine, *changes])


def answers(folder, names=("at", "window", "count", "low", "high")):
    table = pq.read_table(folder, columns=list(names))
    instants = table["at"].cast(pa.timestamp("us", "UTC"))  # Spark's own INT96 is read as nanoseconds without a zone
    table = table.set_column(0, "at", instants)
    return sorted(tuple(str(value) for value in row.values()) for row in table.to_pylist())


def summary(ran):
    """The part of the summary that does not depend on the clock."""
    found = dict(re.split(r"  +", line, maxsplit=1) for line in ran.stderr.splitlines() if "  " in line)
    return {name: found[name].split(" in ")[0] for name in ("rows in", "late", "answers")}


def test_a_streams_figures_are_there_for_prometheus(session, job):
    parser = pytest.importorskip("prometheus_client.parser")
    ran = run(job, *STREAM[:1], LARGE, STREAM[2], 'sink.checkpoint="checkpoint"', 'metrics="skyband.prom"')
    assert ran.exit_code == 0, ran.stderr
    families = parser.text_string_to_metric_families((job.parent / "skyband.prom").read_text())
    seen = {sample.name: sample.value for family in families for sample in family.samples}
    assert seen["skyband_rows_total"] == 12_000 and seen["skyband_micro_batches_total"] == 2
    assert seen["skyband_answers_total"] == len(answers(job.parent / "counts"))
    assert seen["skyband_state_bytes"] > 0 and seen["skyband_retained"] > 0 and seen["skyband_micro_batch_seconds"] > 0
    assert seen["skyband_watermark_seconds"] > 1_700_000_000 and seen["skyband_running"] == 0


def test_a_batch_has_the_rows_of_the_local_engine(session, job):
    ran = run(job)
    assert ran.exit_code == 0, ran.stderr
    local = run(job, "sink.path=local", engine="local")
    assert answers(job.parent / "counts") == answers(job.parent / "local")
    assert summary(ran) == summary(local)
    assert summary(ran)["rows in"] == "12,000"
    assert summary(ran)["late"] == "0 (dropped)"


def test_a_stream_has_the_rows_of_the_local_engine_and_resumes(session, job):
    changes = [*STREAM, "source.options.maxFilesPerTrigger=2", "sink.checkpoint=checkpoint"]
    held_back = {
        path: path.rename(path.with_name(f"_{path.name}")) for path in sorted((job.parent / "requests").iterdir())[8:]
    }
    first = run(job, *changes)
    assert first.exit_code == 0, first.stderr
    assert "4 micro-batches" in first.stderr
    for path, hidden in held_back.items():
        hidden.rename(path)
    second = run(job, *changes)
    assert second.exit_code == 0, second.stderr
    assert summary(second)["rows in"] == "4,000"
    local = run(job, *STREAM, "sink.path=local", engine="local")
    assert answers(job.parent / "counts") == answers(job.parent / "local")
    late = [int(summary(ran)["late"].split()[0]) for ran in (first, second, local)]
    assert late[0] + late[1] == late[2] == LOG.late.sum()
    again = run(job, *changes)
    assert summary(again) == {"rows in": "0", "late": "0 (dropped)", "answers": "0"}


def test_a_stream_keeps_the_backend_that_its_limits_chose(session, job, monkeypatch):
    limits = 'backends.sketch={ error = 0.1, memory = "1 MB" }'
    stream = ["source.stream=true", LARGE, "sink.trigger=available-now", "sink.checkpoint=checkpoint", limits]
    newest = sorted((job.parent / "requests").iterdir())[-1]
    hidden = newest.rename(newest.with_name(f"_{newest.name}"))
    first = run(job, *stream)
    assert first.exit_code == 0, first.stderr
    assert "sketch is { name = 'exact' }, chosen by { error = 0.1, memory = '1 MB' }" in first.stderr
    hidden.rename(newest)
    monkeypatch.setattr(backend_choice, "choice_of", None)  # it is not chosen again
    again = run(job, *stream)
    assert again.exit_code == 0, again.stderr
    assert summary(again)["rows in"] == "1,000"


def test_a_stream_shows_its_answers_on_the_console(session, job):
    asked = ["query.by=status", 'query.windows=["6 hours"]', "query.every=6 hours"]
    ran = run(job, *STREAM, LARGE, "sink.format=console", *asked)
    assert ran.exit_code == 0, ran.stderr
    lines = [line.split() for line in ran.stdout.splitlines()]
    assert lines[0] == ["status", "at", "window", "count", "low", "high"]
    assert [line[0] for line in lines[1:5]] == ["200", "304", "404", "500"]
    assert len(lines) == 1 + 3 * 4
    assert "in 4 groups" in ran.stderr


def test_a_batch_shows_its_answers_on_the_console(session, job):
    ran = run(job, "sink.format=console", "query.every=6 hours")
    assert ran.exit_code == 0, ran.stderr
    assert len(ran.stdout.splitlines()) == 1 + 4 * 2


def test_a_stream_without_its_own_checkpoint_is_refused(session, job):
    assert run(job, *STREAM, LARGE, "sink.checkpoint=one").exit_code == 0
    other = run(job, *STREAM, "sink.checkpoint=two")
    assert other.exit_code == 1
    assert "has the answers of another stream" in other.stderr
    changed = run(job, *STREAM, "sink.checkpoint=one", "query.every=1 hour")
    pq.write_table(
        pq.read_table(job.parent / "requests" / "requests-00.parquet"), job.parent / "requests" / "x.parquet"
    )
    changed = run(job, *STREAM, "sink.checkpoint=one", "query.every=1 hour")
    assert changed.exit_code == 1
    assert "query.every was 30 minutes, is 1 hour" in changed.stderr
    assert len(changed.stderr.strip().splitlines()) <= 3, "one sentence, and no trace of Java or Python"


def test_an_impossible_time_is_named_and_the_batch_leaves_no_answers(session, job):
    table = pq.read_table(job.parent / "requests" / "requests-00.parquet").slice(0, 1)
    never = table.set_column(0, "ts", pa.array([2**62], pa.int64()).cast(table.schema.field("ts").type))
    pq.write_table(never, job.parent / "requests" / "never.parquet")
    ran = run(job)
    assert ran.exit_code == 1
    assert re.search(r"error: \S+never.parquet: ts, row 0: \d+ is out of range", ran.stderr)
    assert "Traceback" not in ran.stderr
    assert not list((job.parent / "counts").glob("*.parquet"))


def test_answers_that_are_there_are_told_before_anything_runs(session, job):
    assert run(job).exit_code == 0
    assert 'set sink.mode to "overwrite" or "append"' in run(job).stderr
    assert run(job, "sink.mode=overwrite").exit_code == 0


def test_columns_can_be_made_with_sql(session, job):
    select = 'source.select=["ts", "concat(client, status) AS visitor"]'
    where = "source.where=abs(status) < 600"
    ran = run(job, where, select, "query.item=visitor", "sink.format=console", "query.every=12 hours")
    assert ran.exit_code == 0, ran.stderr
    unknown = run(job, 'source.select=["ts"]', "sink.format=console")
    assert unknown.exit_code == 1
    assert f"{job}: query.item: the source has no column 'client'" in unknown.stderr
    wrong = run(job, 'source.select=["ts", "upper(clent) AS client"]', "sink.format=console")
    assert "source.select[1]: the source has no column 'clent'; did you mean 'client'" in wrong.stderr
    wrong = run(job, 'source.select=["ts", "btrim(clent) AS client"]', "sink.format=console")
    assert "--set: source.select[1]: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column" in wrong.stderr
    assert "`clent` cannot be resolved" in wrong.stderr
    assert len(wrong.stderr) < 1000
    assert "--set: source.where: [UNRESOLVED" in run(job, "source.where=a b", select, "sink.format=console").stderr


def test_csv_is_typed_by_its_schema(session, job):
    (job.parent / "log.csv").write_text("2026-01-01 00:00:10,a\n2026-01-01T00:59:00Z,b\n2026-01-01 01:30:00,a\n")
    changes = ["source.format=csv", "source.path=log.csv", "source.schema=ts TIMESTAMP, client STRING"]
    assert run(job, *changes).exit_code == 0
    assert run(job, *changes, "sink.path=local", engine="local").exit_code == 0
    assert answers(job.parent / "counts") == answers(job.parent / "local")
    assert len(answers(job.parent / "counts")) == 8


def interrupted(job, *signals):
    """The output and exit status of a stream whose processes all get these signals after its first rows."""
    call = [
        sys.executable,
        "-m",
        "skyband",
        "run",
        str(job),
        "--set",
        "spark.master=local[2]",
        "--set",
        "spark.ui.enabled=false",
    ]
    for change in (*STREAM[:2], "sink.checkpoint=checkpoint"):
        call += ["--set", change]
    started = subprocess.Popen(call, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0)
    try:
        seen = []
        for line in started.stderr:
            seen.append(line)
            if re.match(r"[\d,]+ rows ", line):
                break
        for number in signals:
            os.killpg(started.pid, number)
        out, rest = started.communicate(timeout=400)
    finally:
        if started.poll() is None:
            started.kill()
    said = "".join(seen) + rest
    assert started.returncode == 130, said
    assert not re.search("Traceback|WARN|bug in Skyband", said), said
    return said, out


def test_ctrl_c_stops_a_stream_cleanly(job):
    said, out = interrupted(job, signal.SIGINT)
    assert "stopped; run it again to resume from its checkpoint" in said
    assert out == ""
    assert int(re.search(r"rows in +([\d,]+)", said).group(1).replace(",", "")) >= 1000


@pytest.mark.slow
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_it_without_a_trace_of_java_or_python(job, second):
    """SIGTERM to all processes ends Java before Python has said goodbye to it."""
    said, _ = interrupted(job, signal.SIGINT, second)
    assert "interrupted" in said or "stopped; run it again" in said


def on_spark(kind, examples):
    tried = query_subject(load_query(kind), examples)
    return verify_query_subject(tried, checks=[check for check in query_checks("spark") if check.group == "engine"])


def test_verify_tries_a_query_in_batch_and_as_a_stream(session):
    kind = "top-k-workload"
    report = on_spark(kind, examples_of(kind)[:1])
    assert (report.ok, len(report.results)) == (True, 2), report.text()


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds())
def test_every_example_of_every_query_in_batch_and_as_a_stream(session, kind):
    report = on_spark(kind, examples_of(kind))
    assert report.ok and report.counts()["passed"], report.text()


LATE = """#!/bin/sh
case "$*" in *driver_worker*)
    if [ $(echo >> "{0}/starts" && wc -l < "{0}/starts") -le {1} ]; then sleep 12; fi;;
esac
exec {2} "$@"
"""


@pytest.mark.slow
@pytest.mark.parametrize("late", [2, 3])
def test_a_stream_whose_first_python_is_late_is_restarted(session, job, tmp_path, monkeypatch, late):
    """Spark waits 10 s for it; nothing has been written by then."""
    python = tmp_path / "python"
    python.write_text(LATE.format(tmp_path, late, sys.executable))
    python.chmod(0o755)
    monkeypatch.setattr(session.sparkContext, "pythonExec", str(python))
    ran = run(job, *STREAM, f"sink.checkpoint={tmp_path / 'checkpoint'}")
    if late == 2:
        assert ran.exit_code == 0, ran.output
        assert ran.output.count("starting the stream again") == 2
        assert len(pq.read_table(tmp_path / "counts")) > 0
    else:
        assert ran.exit_code == 1
        assert "Python did not start within the 10 s that Spark waits; run again when" in ran.output
