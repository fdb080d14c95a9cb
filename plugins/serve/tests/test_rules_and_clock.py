"""What a service reads besides its rows: rules, before the first row, and the clock while it is idle."""

import json
import subprocess
import sys
import time

import kafka_broker
import pytest

from .test_checkpoint import savepoints
from .test_kills import FOLDER, JOB, TO_THE_END, killed_to_the_end, rows_in, service, whole

RULES = [{"name": "wide", "window": "1 minute"}, {"name": "narrow", "window": "20 seconds"}]


def job_with_rules(folder, rules):
    text = JOB.format(sink=FOLDER).replace(
        'windows = ["1 minute"]', f'windows = []\nlongest = "1 minute"\nrules = {rules}'
    )
    (folder / "job.toml").write_text(text)


def of_local_engine(folder):
    sets = ["--set", "sink.path=local", "--set", "query.late_rows.path=late of local"]
    ran = service(folder, "-m", "skyband", "run", "job.toml", "--engine", "local", *TO_THE_END, *sets)
    assert ran.returncode == 0, ran.stderr
    return whole(folder, "local")


def in_a_topic(folder, address):
    kafka_broker.make_topic(address, "rules")
    kafka_broker.send(address, "rules", map(json.dumps, RULES))
    return (
        '{ format = "kafka", schema = "name STRING, window STRING", '
        f'options = {{ subscribe = "rules", "kafka.bootstrap.servers" = "{address}" }} }}'
    )


def test_rows_wait_for_the_rules_of_a_topic(tmp_path):
    rows_in(tmp_path)
    with kafka_broker.running(tmp_path) as address:
        job_with_rules(tmp_path, in_a_topic(tmp_path, address))
        ran = service(tmp_path, "-m", "skyband", "serve", "job.toml", *TO_THE_END)
        assert ran.returncode == 0, ran.stderr
        assert whole(tmp_path, "counts") == of_local_engine(tmp_path) != []


def test_rules_in_several_files_hold_from_the_first_row_and_after_kills(tmp_path):
    rows_in(tmp_path)
    (tmp_path / "rules").mkdir()
    for number, rule in enumerate(RULES):
        (tmp_path / "rules" / f"{number}.json").write_text(json.dumps(rule))
    job_with_rules(tmp_path, '{ format = "json", path = "rules", options = { maxFilesPerTrigger = 1 } }')
    assert killed_to_the_end(tmp_path, 2, 13) >= 3
    assert whole(tmp_path, "counts") == of_local_engine(tmp_path) != []
    manifest = json.loads((savepoints(tmp_path)[-1] / "savepoint.json").read_text())
    assert manifest["rules"]["format"] == "json", "the job's own, so that it resumes on Spark"


DETECTIONS = """
name = "detections"
source = { format = "parquet", path = "in", stream = true, options = { maxFilesPerTrigger = 2 } }

[query]
kind = "detections"
time = "ts"
keys = [["client"], []]
keep = [{ key = ["client"], most = 5, longest = "1 minute" }]
rule_columns = ["status"]
carry = ["status"]
delay = "1 second"
late_rows = { format = "parquet", path = "late" }
rules = { format = "json", path = "rules", options = { maxFilesPerTrigger = 1 } }

[sink]
checkpoint = "checkpoint"
format = "parquet"
path = "counts"
"""
MANY = {"name": "many", "measure": "rows", "key": ["client"], "window": "10 seconds", "at_least": 4}
LATER = {"after": "2025-06-15T15:07:20Z"}
STEPS = {"measure": "sequence", "key": ["client"], "window": "20 seconds", "steps": ["status = 404", "status = 200"]}
COMING = [
    [
        MANY | {"tell": "each", "silence": "5 seconds"},
        MANY | {"name": "odd", "where": "status = 404", "at_least": 2},
        {"name": "then", **STEPS},
    ],
    [MANY | LATER | {"measure": "distinct status", "at_least": 2, "silence": "30 seconds"}],
    [{"name": "odd", **LATER}, MANY | {"name": "all", "key": [], "at_least": 80, "window": "9 seconds"}],
]


def test_detections_whose_rules_change_are_the_same_after_kills(tmp_path):
    pytest.importorskip("skyband_detect")
    rows_in(tmp_path)
    (tmp_path / "rules").mkdir()
    for number, rules in enumerate(COMING):
        (tmp_path / "rules" / f"{number}.json").write_text("\n".join(map(json.dumps, rules)))
    (tmp_path / "job.toml").write_text(DETECTIONS)
    assert killed_to_the_end(tmp_path, 2, 13) >= 3
    alerts = whole(tmp_path, "counts")
    assert alerts == of_local_engine(tmp_path)
    assert all(any(f"'rule': '{name}'" in alert for alert in alerts) for name in ("many", "odd", "all", "then"))


@pytest.mark.parametrize("hours", [-5, pytest.param(5, marks=pytest.mark.slow)])
def test_an_idle_stream_follows_the_time_that_passes_whatever_its_clock_is_set_to(tmp_path, hours):
    rows_in(tmp_path, files=2)
    job = (
        JOB.format(sink=FOLDER)
        .replace("10 seconds", "1 second")
        .replace('path = "in",', 'path = "in", idle_after = "1 second",')
    )
    (tmp_path / "job.toml").write_text(job + 'trigger = "50 milliseconds"\n')
    for clock in ("0", f"({hours} if real() > begun + 4 * 10**9 else 0)", f"{hours}"):
        script = (
            "import sys, time; real, begun = time.time_ns, time.time_ns(); "
            f"time.time_ns = lambda: real() + {clock} * 3600 * 10**9; "
            "from skyband.__main__ import main; sys.argv[1:] = ['serve', 'job.toml']; main()"
        )
        count = len(list((tmp_path / "counts").glob("part-*")))
        running = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stderr=subprocess.PIPE)
        ends = time.monotonic() + 60
        while len(list((tmp_path / "counts").glob("part-*"))) < count + 4 and time.monotonic() < ends:
            assert running.poll() is None, running.stderr.read()
            time.sleep(0.05)
        running.terminate()
        running.communicate(timeout=60)
        assert time.monotonic() < ends, "it stands still"
    assert newest(tmp_path) < 120


def newest(folder):
    """Seconds from the first answer to the last: not the hours by which a clock was set."""
    import pyarrow.compute as pc
    import pyarrow.dataset

    times = pyarrow.dataset.dataset(folder / "counts").to_table().column("at")
    return (pc.max(times).as_py() - pc.min(times).as_py()).total_seconds()
