"""A stream on Spark whose answers are a log in a topic: each is there once, also after a stop."""

import json

import kafka_broker
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from topic_trial import all_messages

from . import faults

pytestmark = pytest.mark.spark

COLUMNS = ("place", "window", "count", "low", "high")


def run(job, *arguments):
    ran = CliRunner().invoke(group, ["run", str(job), *arguments])
    assert ran.exit_code == 0, ran.stderr


def test_a_stream_adds_each_answer_once(session, tmp_path):
    with kafka_broker.running(tmp_path) as address:
        faults.write_source(tmp_path / "source", files=2)
        job = faults.write_job(tmp_path, "killed")
        files = job.read_text()
        options = f'"kafka.bootstrap.servers" = "{address}", "kafka.log_level" = "0"'
        sink = f'format = "kafka"\ntable = "counts"\noptions = {{ {options} }}'
        job.write_text(files.replace('format = "parquet"\npath = "killed/"', sink))
        run(job)
        faults.write_file(tmp_path / "source", 2)
        run(job)
        rows = [json.loads(value) for _, value, _ in all_messages(address, "counts")]
        whole = job.with_name("whole.toml")
        whole.write_text(files.replace('path = "killed/"', 'path = "all/"'))
        run(whole, "--engine", "local")
        expected = pq.read_table(tmp_path / "all").to_pylist()
        assert sorted(tuple(row[name] for name in COLUMNS) for row in rows) == sorted(
            tuple(row[name] for name in COLUMNS) for row in expected
        )
        assert expected
