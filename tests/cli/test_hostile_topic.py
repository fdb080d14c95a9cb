"""A topic of which one message in a hundred is hostile, on the local engine: no run ends for it, and every row is
accounted for, whenever a run is killed."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time

import hostile_stream
import kafka_broker
import pyarrow.parquet as pq
import pytest
from skyband_jobs.programs.run import run_job

JOB = """
[source]
format = "kafka"
stream = true
finish = true
schema = "{schema}"
[source.options]
"kafka.bootstrap.servers" = "{address}"
subscribe = "hostile"
maxOffsetsPerTrigger = {at_once}
[query]
{query}
bad_rows = {{ format = "json", path = "bad" }}
late_rows = {{ format = "json", path = "late" }}
[sink]
format = "parquet"
path = "answers"
trigger = "available-now"
"""
SMALL, WHOLE = (2_400, 24, 1), (24_000, 200, 20)
"""Messages, micro-batches, kills: each of the 24 ways once in its own micro-batch, or ten times."""


@pytest.mark.parametrize(("count", "batches", "kills"), [SMALL, pytest.param(*WHOLE, marks=pytest.mark.slow)])
def test_every_row_is_accounted_for_through_kills(tmp_path, count, batches, kills):
    chance = random.Random(kills)
    with kafka_broker.running(tmp_path) as address:
        kafka_broker.make_topic(address, "hostile")
        kafka_broker.send(address, "hostile", hostile_stream.messages(count))
        query = "\n".join(f"{name} = {json.dumps(value)}" for name, value in hostile_stream.QUERY.items())
        job = tmp_path / "job.toml"
        job.write_text(JOB.format(schema=hostile_stream.SCHEMA, address=address, at_once=count // batches, query=query))
        killed = sum(kill_a_run(job, chance.uniform(0, 1.5)) for _ in range(kills))
        assert 2 * killed >= kills, "most kills hit a run"
        totals = run_job(job, engine="local")
    assert totals.micro_batches == batches
    counted = {**totals.dropped, "late": totals.rows_late}
    assert counted == hostile_stream.outcomes(count, "local")
    assert totals.rows_in == count
    assert pq.read_table(tmp_path / "answers").to_pylist() == hostile_stream.answers(count)
    assert sorted(row["number"] for row in lines(tmp_path / "late")) == hostile_stream.late_numbers(count)
    bad = lines(tmp_path / "bad")
    values = sorted(row["_value"] if row["number"] is None else str(row["number"]) for row in bad)
    assert values == hostile_stream.bad_values(count, "local")


def lines(folder):
    """The rows of a run that was not killed: those of others were removed with their answers."""
    return [json.loads(line) for path in folder.glob("part*") for line in path.read_text().splitlines()]


def kill_a_run(job, seconds):
    """Kill a run of a job so many seconds after it has begun to write; whether it had not ended before."""
    run = subprocess.Popen(
        [sys.executable, "-P", "-m", "skyband", "run", str(job), "--engine", "local"],
        cwd=job.parent,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    while run.poll() is None and not list(job.parent.glob("answers/_part*.partial")):
        time.sleep(0.01)
    time.sleep(seconds)
    run.send_signal(signal.SIGKILL)
    said = run.communicate()[1]
    assert run.returncode in (0, -signal.SIGKILL), said.decode()
    if run.returncode == 0:
        for name in ("answers", "bad", "late"):
            shutil.rmtree(job.parent / name)
    return run.returncode != 0
