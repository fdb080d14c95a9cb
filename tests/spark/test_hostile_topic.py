"""A topic of which one message in a hundred is hostile, on Spark: the stream is killed twenty times and never stops
for a row, and every row is accounted for."""

import json
import random
from pathlib import Path

import hostile_stream
import kafka_broker
import pytest

from . import faults

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JOB = """
[source]
format = "hostile_topic"
stream = true
finish = true
select = [{select}]
options = {{ address = "{address}", topic = "hostile", messages = {count}, at_once = {at_once} }}
[query]
{query}
bad_rows = {{ format = "json", path = "bad" }}
late_rows = {{ format = "json", path = "late" }}
[sink]
format = "parquet"
path = "answers"
checkpoint = "checkpoint"
trigger = "available-now"
[spark]
"spark.master" = "local[2]"
"spark.sql.session.timeZone" = "UTC"
"""
COUNT, BATCHES, KILLS = 4_800, 200, 20


def test_every_row_is_accounted_for_through_kills(session, tmp_path, monkeypatch):
    pytest.importorskip("pyspark.sql.streaming.datasource", reason="sources in Python say how much they give since 4.2")
    here = str(Path(__file__).parent)
    with kafka_broker.running(tmp_path) as address:
        kafka_broker.make_topic(address, "hostile")
        kafka_broker.send(address, "hostile", hostile_stream.messages(COUNT))
        job = write_job(tmp_path, address)
        chance, killed = random.Random(1), 0
        for _ in range(KILLS):
            process = faults.start(job, PYTHONPATH=here)
            try:
                killed += faults.after_next_commit(process, tmp_path / "checkpoint", chance.uniform(0, 3))
            finally:
                if process.poll() is None:
                    faults.kill_group(process)
        assert 2 * killed >= KILLS, "most kills hit a stream that runs"
        process = faults.start(job, PYTHONPATH=here)
        faults.finish(process)
    assert max(map(int, faults.committed(tmp_path / "checkpoint"))) >= BATCHES - 1, "Spark keeps the last hundred"
    expected = hostile_stream.outcomes(COUNT, "spark")
    late, bad = (session.read.json(str(tmp_path / name)).collect() for name in ("late", "bad"))
    assert sorted(row.number for row in late) == hostile_stream.late_numbers(COUNT)
    assert sorted(str(row.number) for row in bad) == hostile_stream.bad_values(COUNT, "spark")
    assert (len(late), len(bad)) == (expected["late"], expected["bad"])
    answers = session.read.parquet(str(tmp_path / "answers")).toArrow()
    keys = [(name, "ascending") for name in answers.column_names]
    rows = [{**row, "time": row["time"].replace(tzinfo=None)} for row in answers.sort_by(keys).to_pylist()]
    wanted = [{**row, "time": row["time"].replace(tzinfo=None)} for row in hostile_stream.answers(COUNT)]
    assert rows == sorted(wanted, key=lambda row: tuple(row.values()))


def write_job(folder, address):
    """The job of the hostile messages, whose columns SQL takes from their JSON."""
    names = [column.split()[0] for column in hostile_stream.SCHEMA.split(", ")]
    select = ", ".join(
        json.dumps(f"from_json(CAST(value AS STRING), '{hostile_stream.SCHEMA}').{name} AS {name}") for name in names
    )
    query = "\n".join(f"{name} = {json.dumps(value)}" for name, value in hostile_stream.QUERY.items())
    path = folder / "job.toml"
    path.write_text(JOB.format(select=select, address=address, count=COUNT, at_once=COUNT // BATCHES, query=query))
    return path
