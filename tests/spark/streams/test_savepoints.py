"""A stream that resumes from a savepoint of another, or from history: together the answers of an undisturbed one."""

import json
import shutil
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from families import DELAY, FAMILIES, WORKLOAD, events, family
from skyband.cli.commands import group
from skyband.columns import keyed_frames
from skyband.engines import local
from skyband.queries import make_query
from skyband_jobs.running.stream_lock import in_use
from skyband_spark.frames.checkpoint import read_shards
from skyband_spark.frames.checkpoint_from_states import write_checkpoint
from skyband_spark.frames.state_store import CHUNK
from skyband_spark.program import plan_of

from .. import faults
from ..conftest import rows_of, up_to_watermark

pytestmark = pytest.mark.spark


def toml(value):
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {toml(entry)}' for name, entry in value.items())} }}"
    return f"[{', '.join(map(toml, value))}]" if isinstance(value, list) else json.dumps(value)


class Jobs:
    """Jobs of one family in a folder, each with a sink and a checkpoint of its own."""

    def __init__(self, folder, kind, **keys):
        self.folder, self.kind, self.keys = folder, kind, {"by": ["place"], **keys}

    def write(self, name, shards, stream=True, **changes):
        query = {"kind": self.kind, "time": "ts", "delay": f"{DELAY} seconds", **FAMILIES[self.kind], **self.keys}
        lines = [f"shards = {shards}", "[source]", 'format = "parquet"', 'path = "source"', f"stream = {toml(stream)}"]
        lines += ["[query]", *(f"{key} = {toml(value)}" for key, value in {**query, **changes}.items())]
        lines += ["[sink]", 'format = "parquet"', f'path = "{name}"']
        lines += [f'checkpoint = "checkpoint of {name}"', 'trigger = "available-now"'] if stream else []
        path = self.folder / f"{name}.toml"
        path.write_text("\n".join(lines))
        return str(path)

    def call(self, *arguments):
        done = CliRunner().invoke(group, list(map(str, arguments)))
        assert done.exit_code == 0, done.stderr
        return done

    def refused(self, *arguments):
        done = CliRunner().invoke(group, list(map(str, arguments)))
        assert done.exit_code == 1, done.stderr
        return " ".join(done.stderr.split())

    def rows(self, session, *names):
        frames = [session.read.parquet(str(self.folder / name)) for name in names if self._wrote(name)]
        return rows_of([row for frame in frames for row in frame.collect()], frames[0].columns)

    def _wrote(self, name):
        return any((self.folder / name).glob("part-*"))

    def asked(self, table):
        """The answers of the local engine, up to the watermark that a stream of the table comes to."""
        query = family(self.kind, **self.keys)
        return up_to_watermark(local.apply(table, query), table, query)

    def expected(self, table):
        whole = self.asked(table)
        return rows_of(whole.to_pylist(), whole.column_names)


def thirds(rows):
    table = events(7, rows=rows, span=240)
    return table, [table.slice(start, rows // 3) for start in range(0, rows, rows // 3)]


def test_a_stream_resumes_from_a_savepoint_with_other_shards(session, files, tmp_path):
    table, (first, second, third) = thirds(600)
    jobs = Jobs(tmp_path, "distinct-count")
    one, two, saved = jobs.write("one", 2), jobs.write("two", 3), tmp_path / "saved"
    files(first, 2)
    assert "does not exist: run the job first" in jobs.refused("savepoint", one, saved)
    jobs.call("run", one)
    check_refusals(jobs, one, saved)
    assert "saved: 2 shards, " in jobs.call("savepoint", one, saved).stdout
    assert json.loads((saved / "savepoint.json").read_text())["source"]["offset"] == '{"logOffset":0}'
    assert "choose another folder" in jobs.refused("savepoint", one, saved)
    shutil.move(saved, tmp_path / "moved")
    shutil.rmtree(tmp_path / "checkpoint of one")
    read = list((tmp_path / "source").iterdir())
    files(second, 2)
    for path in read:
        path.unlink()  # what was read is needed no more
    leave_what_a_killed_start_leaves(tmp_path)
    jobs.call("run", two, "--from", tmp_path / "moved")
    hidden = {path.name for path in tmp_path.iterdir() if path.name.startswith(".")}
    assert hidden == {".checkpoint of two.partial", ".skyband-of-a-person.partial", ".skyband-of-another.partial"}
    pq.write_table(third, tmp_path / "source" / "last.parquet")
    jobs.call("run", two, "--from", tmp_path / "moved")
    assert jobs.rows(session, "one", "two") == jobs.expected(table)
    change(tmp_path / "moved", id="another")
    assert "started otherwise" in jobs.refused("run", two, "--from", tmp_path / "moved")
    change(tmp_path / "moved", source={"format": "parquet", "path": "/there", "offset": "-"})
    three = jobs.write("three", 2)
    assert "source.path: was '/there'" in jobs.refused("run", three, "--from", tmp_path / "moved")
    assert not (tmp_path / "checkpoint of three").exists() and not (tmp_path / "three").exists()


def change(saved, **changes):
    path = saved / "savepoint.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def check_refusals(jobs, job, saved):
    """The error for a stream that cannot be saved now."""
    checkpoint = jobs.folder / "checkpoint of one"
    with in_use(checkpoint):
        assert "is in use: a stream is running on it" in jobs.refused("savepoint", job, saved)
        assert "is in use" in jobs.refused("run", job)
    begun = checkpoint / "offsets" / "1"
    begun.write_text("v1")
    assert "micro-batch 1 of the checkpoint" in jobs.refused("savepoint", job, saved)
    begun.unlink()
    assert "--until is only for batches" in jobs.refused("savepoint", job, saved, "--until", "1970-01-01").replace(
        ":", ""
    )
    assert not saved.exists()


def leave_what_a_killed_start_leaves(folder):
    for name, mark in (("mine", {"checkpoint": "checkpoint of two"}), ("of-another", {"checkpoint": "other"})):
        partial = folder / f".skyband-{name}.partial"
        (partial / "1" / "checkpoint").mkdir(parents=True)
        (partial / "skyband-partial.json").write_text(json.dumps(mark))
    (folder / ".checkpoint of two.partial" / "of a person").mkdir(parents=True)
    (folder / ".skyband-of-a-person.partial").mkdir()
    log = folder / "two" / "_spark_metadata"
    log.mkdir(parents=True)
    (log / "0").write_bytes(b"v1")


def test_shards_without_groups_are_not_confused(session, files, tmp_path):
    """As many shards as before, and half of them: Spark's keys do not come in the order of the shards' numbers."""
    table, parts = thirds(600)
    jobs, names, saved = Jobs(tmp_path, "heavy-hitters", by=[]), [], None
    for number, (part, shards) in enumerate(zip(parts, (4, 4, 2), strict=True)):
        files(part, 2)
        names.append(f"run{number}")
        job = jobs.write(names[-1], shards)
        jobs.call("run", job, *([] if saved is None else ["--from", saved]))
        saved = tmp_path / f"saved{number}"
        if number < 2:
            jobs.call("savepoint", job, saved)
    assert jobs.rows(session, *names) == jobs.expected(table)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES)
def test_every_family_continues_from_one_shard_to_four_to_two(session, files, tmp_path, kind):
    table, parts = thirds(900)
    jobs, names, saved = Jobs(tmp_path, kind), [], None
    for number, (part, shards) in enumerate(zip(parts, (1, 4, 2), strict=True)):
        files(part, 2)
        names.append(f"run{number}")
        job = jobs.write(names[-1], shards)
        jobs.call("run", job, *([] if saved is None else ["--from", saved]))
        saved = tmp_path / f"saved{number}"
        jobs.call("savepoint", job, saved)
    assert jobs.rows(session, *names) == jobs.expected(table)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_start_may_be_killed_at_any_moment(session, tmp_path):
    """SIGKILL from the first sign of the new checkpoint on, each time a little later; then left alone."""
    faults.write_source(tmp_path / "source", files=3)
    one, two = faults.write_job(tmp_path, "one"), faults.write_job(tmp_path, "two")
    two.write_text(two.read_text().replace("shards = 2", "shards = 3"))
    assert CliRunner().invoke(group, ["run", str(one)]).exit_code == 0
    saved = tmp_path / "saved"
    assert CliRunner().invoke(group, ["savepoint", str(one), str(saved)]).exit_code == 0
    faults.write_file(tmp_path / "source", 3)
    faults.write_file(tmp_path / "source", 4)
    ready = tmp_path / "checkpoint of two"
    seen = []
    for wait in (1, 8, 16, 24):  # seconds: Spark starts, the state is taken over, the checkpoint is there, it goes on
        began, process = time.time(), faults.start(two, "--from", str(saved))
        try:
            while process.poll() is None and not is_newer(partial_of(tmp_path), began) and not ready.exists():
                time.sleep(0.05)
            time.sleep(wait)
            seen.append((partial_of(tmp_path) is not None, ready.exists(), (ready / "offsets" / "2").exists()))
        finally:
            if process.poll() is None:
                faults.kill_group(process)
            else:
                faults.finish(process)
    faults.finish(faults.start(two, "--from", str(saved)))
    assert len(set(seen)) > 1, "kills hit several steps"
    table = pa.concat_tables(map(pq.read_table, sorted((tmp_path / "source").iterdir())))
    query = make_query(faults.QUERY)
    whole = up_to_watermark(local.apply(table, query), table, query)
    rows = [row for name in ("one", "two") for row in session.read.parquet(str(tmp_path / name)).collect()]
    assert rows_of(rows, whole.column_names) == rows_of(whole.to_pylist(), whole.column_names)


def partial_of(folder):
    return next(folder.glob(".skyband-*.partial/1/states"), None)


def is_newer(path, moment):
    return path is not None and path.exists() and path.stat().st_mtime > moment


@pytest.mark.slow
def test_a_stream_that_began_otherwise_may_be_finished(session, files, tmp_path):
    table, (first, *others) = thirds(600)
    jobs = Jobs(tmp_path, "top-k")
    one, two = jobs.write("one", 2), jobs.write("two", 1)
    files(first, 1)
    jobs.call("run", one)
    jobs.call("savepoint", one, tmp_path / "saved")
    for part in others:
        files(part, 1)
    jobs.call("run", two, "--from", tmp_path / "saved", "--set", "source.finish=true")
    whole = local.apply(table, family("top-k", by=["place"]))
    assert jobs.rows(session, "one", "two") == rows_of(whole.to_pylist(), whole.column_names)


UNTIL = "1970-01-01 00:02:00"


def check_history(session, jobs, table, history, saved):
    """After the handover, a stream that starts with history has the answers of one that had everything."""
    stream = jobs.write("stream", 3)
    jobs.call("savepoint", history, saved, "--until", UNTIL)
    jobs.call("run", stream, "--from", saved)
    moment = "at" in jobs.asked(table).column_names
    expected = [row for row in jobs.expected(table) if (row[1] > UNTIL if moment else row[1] >= UNTIL)]
    assert jobs.rows(session, "stream") == expected and expected


def test_a_stream_starts_with_history(session, files, tmp_path):
    table, _ = thirds(600)
    jobs = Jobs(tmp_path, "top-k-workload", queries=WORKLOAD)
    files(table, 3)
    history, saved = jobs.write("history", 2, stream=False), tmp_path / "saved"
    assert "--until is required for a batch" in jobs.refused("savepoint", history, saved).replace(":", "")
    assert "has no row before" in jobs.refused("savepoint", history, saved, "--until", "1969-01-01")
    check_history(session, jobs, table, history, saved)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if kind != "top-k-workload"])
def test_every_family_starts_with_history(session, files, tmp_path, kind):
    table, _ = thirds(600)
    jobs = Jobs(tmp_path, kind)
    files(table, 3)
    check_history(session, jobs, table, jobs.write("history", 2, stream=False), tmp_path / "saved")


def test_a_stream_starts_with_a_table_of_states(session, files, tmp_path):
    table = events(9, rows=600, span=240)
    jobs = Jobs(tmp_path, "distinct-count", windows=["30 seconds", "2 minutes"], every="10 seconds")
    saved = tmp_path / "saved"
    states = local.apply(table, family(jobs.kind, **jobs.keys, emit="state"))
    pq.write_table(states, tmp_path / "states.parquet")
    moments = sorted(set(states["at"].to_pylist()))
    at = moments[len(moments) // 2]
    files(table, 2)
    job = jobs.write("one", 3)
    assert "--at: is only for --states" in jobs.refused("savepoint", job, saved, "--at", at.isoformat())
    assert "query.by: the states are grouped by place" in jobs.refused(
        "savepoint", jobs.write("other", 1, by=[]), saved, "--states", tmp_path / "states.parquet"
    )
    told = jobs.call("savepoint", job, saved, "--states", tmp_path / "states.parquet", "--at", at.isoformat())
    assert "saved: 1 shards, " in told.stdout
    summary = jobs.call("run", job, "--from", saved).stderr
    late = sum(time < at for time in table["ts"].to_pylist())
    assert f"late     {late:,}" in summary, summary
    whole = jobs.asked(table)
    later = whole.filter(pc.greater(whole["at"], pa.scalar(at, whole.schema.field("at").type)))
    assert jobs.rows(session, "one") == rows_of(later.to_pylist(), later.column_names)


def test_a_state_that_spark_delivers_in_many_batches_is_complete(session, tmp_path):
    items = 60_000
    rows = pa.table({"ts": pa.array(range(items), pa.timestamp("us", "UTC")), "item": range(items)})
    query = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["1 day"], "every": "1 hour"}
    plan = plan_of(session.createDataFrame(rows.slice(0, 1).to_pandas()), query, {"sketch": "exact"}, 1)
    operator = plan.operator(0)
    for batch in plan.to_shuffle_rows(iter(rows.combine_chunks().to_batches())):
        for row in batch.to_pylist():
            if row["frame"] is not None:
                operator.add(keyed_frames.from_bytes(row["frame"]))
    operator.advance(items)
    snapshot = operator.snapshot()
    assert len(snapshot) > 3 * CHUNK
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = session.conf.get(name)
    session.conf.set(name, "1")  # as a state of more than 64 MB is cut into batches
    try:
        made = write_checkpoint(session, plan, [snapshot], tmp_path)
    finally:
        session.conf.set(name, before)
    (shard,) = read_shards(session, str(made))
    assert shard.restore(plan).snapshot() == snapshot
