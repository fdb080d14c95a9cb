"""A company's plugin says what its jobs must keep and takes their figures; its faults are told, and end no run."""

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HOOKS = """
import json
from skyband import hookimpl
from skyband.errors import Problem

@hookimpl
def skyband_rules(job, engine):
    if job.query.kind == "distinct-count" and job.sink.mode == "append":
        return [Problem("sink.mode", f"mixes runs, which nobody may on {engine}: remove it")]
    return []

@hookimpl
def skyband_metrics(job, metrics):
    with open(f"{job.name}.metrics", "a") as log:
        log.write(json.dumps(metrics) + "\\n")
"""
JOB = """
[source]
format = "parquet"
path = "visits"
stream = true
options = { maxFilesPerTrigger = 1 }

[query]
kind = "distinct-count"
time = "ts"
item = "who"
windows = ["1 minute"]
every = "1 minute"

[backends]
sketch = "exact"

[sink]
format = "parquet"
path = "counts"
"""


@pytest.fixture
def acme(tmp_path):
    """A folder with a job, and a function that calls the command line there with a plugin whose hooks are given."""
    (tmp_path / "visits").mkdir()
    for number in range(3):
        times = pa.array([60_000_000 * number, 60_000_000 * number + 1], pa.timestamp("us", "UTC"))
        path = tmp_path / "visits" / f"{number}.parquet"
        pq.write_table(pa.table({"ts": times, "who": ["a", f"b{number}"]}), path)
        os.utime(path, (number, number))
    (tmp_path / "daily.toml").write_text(JOB)
    info = tmp_path / "acme_policy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-policy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skyband]\nacme = acme_policy\n")

    def call(hooks, *arguments):
        (tmp_path / "acme_policy.py").write_text(hooks)
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-m", "skyband", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=env, check=False, cwd=tmp_path)

    call.folder = tmp_path
    return call


def test_a_rule_of_a_plugin_is_told_by_check_and_run(acme):
    said = "sink.mode: mixes runs, which nobody may on local: remove it (a rule of acme-policy)"
    for command in ("check", "run"):
        told = acme(HOOKS, command, "daily.toml", "--engine", "local", "--set", "sink.mode=append")
        assert told.returncode == 1
        assert said in told.stdout + told.stderr
    assert acme(HOOKS, "check", "daily.toml", "--engine", "local").returncode == 0
    assert not (acme.folder / "counts").exists()


def test_a_plugin_has_the_figures_of_each_micro_batch_and_of_the_end(acme):
    assert acme(HOOKS, "run", "daily.toml", "--engine", "local").returncode == 0
    lines = [json.loads(line) for line in (acme.folder / "daily.metrics").read_text().splitlines()]
    assert [line["rows_in"] for line in lines] == [2, 4, 6, 6]
    assert [line["ended"] for line in lines] == [False, False, False, True]
    assert lines[-1]["answers"] == 2 and lines[-1]["micro_batches"] == 3


BROKEN = HOOKS.replace("    return []", "    return [1]").replace(
    "    with", "    raise LookupError('no log')\n    with"
)


def test_a_rule_that_fails_is_a_problem_and_metrics_that_nobody_takes_are_none(acme):
    told = acme(BROKEN, "check", "daily.toml", "--engine", "local")
    said = "the rules of acme-policy failed: TypeError: a rule must return skyband.errors.Problem (got 1); upgrade"
    assert told.returncode == 1 and said in told.stdout
    quiet = BROKEN.replace("return [1]", "return []")
    ran = acme(quiet, "run", "daily.toml", "--engine", "local")
    assert ran.returncode == 0
    said = (
        "warning: acme-policy could not take the run's metrics: LookupError: no log; it is not called again in this run"
    )
    assert ran.stderr.count(said) == 1
