"""Answers of a stream in tables: each micro-batch appears once, whatever is killed and repeated."""

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tables_beyond_files
from skyband import spark
from skyband.engines import local
from skyband.errors import EngineError
from skyband.queries import make_query
from skyband_jobs.formats import open_sink, open_table
from skyband_jobs.tables.model import Source
from skyband_lakes.libraries import DELTA, ICEBERG
from skyband_spark.reading.plain_files_of_tables import table_frame
from table_places import arguments, keys

from . import faults
from .conftest import rows_of, up_to_watermark
from .test_sinks import call

FORMATS = {"delta": DELTA, "iceberg": ICEBERG}
pytestmark = pytest.mark.spark


@pytest.fixture(name="format", params=FORMATS)
def _format(request):
    lacking = FORMATS[request.param].missing()
    if lacking is not None:
        pytest.skip(f"{request.param} {lacking}")
    return request.param


PLACE = {"delta": ("path", "options"), "iceberg": ("table", "catalog")}


def write_job(format, folder):
    job = faults.write_job(folder, "counts")
    into = "\n".join(f"{key} = {value}" for key, value in keys(format, "counts").items())
    job.write_text(job.read_text().replace('"parquet"\npath = "counts/"', f'"{format}"\n{into}'))
    return job


def wanted(folder):
    asked, table = make_query(faults.QUERY), pq.read_table(folder)
    answers = up_to_watermark(local.apply(table, asked), table, asked)
    return rows_of(answers.to_pylist(), answers.column_names)


def written(format, place):
    table = open_table(format, *place)
    batches = list(table.batches(table.schema.names))
    return rows_of(pa.Table.from_batches(batches, table.schema).to_pylist(), table.schema.names)


def test_a_micro_batch_that_spark_repeats_is_there_once(session, tmp_path, format):
    faults.write_source(tmp_path / "source", files=3)
    place, checkpoint = arguments(format, tmp_path, "counts"), tmp_path / "checkpoint"
    source = session.readStream.schema(faults.SCHEMA).option("maxFilesPerTrigger", 2)
    answers = spark.apply(source.parquet(str(tmp_path / "source")), faults.QUERY, shards=2)
    for _ in range(2):
        stream = answers.writeStream.foreachBatch(open_sink(format, *place))
        stream = stream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        stream.start().awaitTermination()
        assert written(format, place) == wanted(tmp_path / "source")
        # As after a crash between the write and Spark's commit.
        last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        last.unlink()
        last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    at = {"format": format, **dict(zip(PLACE[format], place, strict=True))}
    for reader, who in (("auto", "Python, where rows are packed"), ("spark", 'Spark (source.reader = "spark")')):
        frame, choice = table_frame(session, Source(**at, reader=reader))
        assert str(choice) == who
        read = frame.collect()
        assert rows_of(read, read[0].asDict()) == wanted(tmp_path / "source")
    with pytest.raises(EngineError, match="only with its connector"):
        table_frame(session, Source(**at, stream=True))


SOURCE = """
[source]
format = "{format}"
{place}

[query]
kind = "distinct-count"
time = "ts"
item = "who"
by = ["place"]
windows = ["2 minutes"]
every = "1 minute"

[sink]
format = "parquet"
path = "counts"
"""


def test_a_table_gives_the_rows_of_the_local_engine_whoever_reads_its_files(session, tmp_path, format, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sink = open_sink(format, *arguments(format, tmp_path, "visits"))
    faults.write_source(tmp_path / "source", files=4)
    for path in sorted((tmp_path / "source").iterdir()):
        sink.append(pq.read_table(path))
    if format == "delta":
        DELTA.imported().DeltaTable(str(tmp_path / "visits")).delete("who = 'visitor 7'")
    job = tmp_path / "job.toml"
    place = "\n".join(f"{key} = {value}" for key, value in keys(format, "visits").items())
    job.write_text(SOURCE.format(format=format, place=place))
    for number, (reader, where, who) in enumerate(
        (
            ("auto", None, "Python, where rows are packed"),
            ("auto", "place <> 'place 1'", "Python, where rows are packed"),
            ("spark", "place <> 'place 1'", 'Spark (source.reader = "spark")'),
            ("auto", "upper(btrim(place)) = 'PLACE 1'", "Spark (only Spark knows where or select)"),
        )
    ):
        sets = [f"source.reader={reader}", *([] if where is None else [f"source.where={where}"])]
        assert f"read by {who}" in call("check", job, *sets, engine="spark").stderr
        ran = call("run", job, *sets, f"sink.path=spark {number}", engine="spark")
        assert ran.exit_code == 0, ran.stderr
        assert f"read by  {who}" in ran.stderr
        if where is not None and "btrim" in where:
            sets = ["source.where=place = 'place 1'"]
        assert call("run", job, *sets, f"sink.path=local {number}", engine="local").exit_code == 0
        one, other = (pq.read_table(tmp_path / f"{engine} {number}") for engine in ("local", "spark"))
        assert rows_of(one.to_pylist(), one.column_names) == rows_of(other.to_pylist(), one.column_names)
        assert len(one) >= 3


def test_a_table_that_is_more_than_its_files_is_read_by_parts(session, tmp_path, format, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if format == "delta":
        tables_beyond_files.delta(tmp_path / "visits", True)
    else:
        tables_beyond_files.iceberg(tmp_path, *arguments(format, tmp_path, "visits"), True)
    job = tmp_path / "job.toml"
    place = "\n".join(f"{key} = {value}" for key, value in keys(format, "visits").items())
    job.write_text(SOURCE.format(format=format, place=place).replace('path = "counts"', 'path = "out"'))
    why = "has deletionVectors, partitions by place)" if format == "delta" else "has separate files of deleted rows)"
    wheres = {
        None: "Python, where rows are packed (the ",
        "more > 1": "Python, where rows are packed (the ",
        "upper(btrim(who)) = 'VISITOR 1'": "Python, but where by Spark's SQL (the ",
    }
    for number, (where, who) in enumerate(wheres.items()):
        sets = [] if where is None else [f"source.where={where}"]
        for said in (
            call("check", job, *sets, engine="spark").stderr,
            call("run", job, *sets, f"sink.path=spark {number}", engine="spark").stderr,
        ):
            assert who in said and why in said, said
        sets = ["source.where=who = 'visitor 1'"] if where is not None and "btrim" in where else sets
        assert call("run", job, *sets, f"sink.path=local {number}", engine="local").exit_code == 0
        one, other = (pq.read_table(tmp_path / f"{engine} {number}") for engine in ("local", "spark"))
        assert rows_of(one.to_pylist(), one.column_names) == rows_of(other.to_pylist(), one.column_names)
        assert len(one) >= 4
    refused = call("run", job, "source.reader=spark", engine="spark")
    assert refused.exit_code == 1 and "Spark's file reader ignores: let Python read it" in refused.stderr


DEADLY = """
import os, signal, sys
from skyband_jobs.programs.run import run_job
from skyband_jobs.formats import open_sink

moment, format, job = sys.argv[1:]
kind = type(open_sink(format, "no.where", {}))
write = kind.write

def deadly(self, *given):
    if moment == "after":
        write(self, *given)
    os.killpg(0, signal.SIGKILL)

kind.write = deadly
run_job(job)
"""


@pytest.mark.slow
def test_a_job_killed_before_and_after_every_write_loses_nothing_and_writes_nothing_twice(tmp_path, format):
    faults.write_source(tmp_path / "source", files=2)
    job = write_job(format, tmp_path)
    kills = 0
    for moment in ("before", "after") * 10:
        command = [sys.executable, "-P", "-c", DEADLY, moment, format, str(job)]
        ran = subprocess.run(
            command, cwd=tmp_path, start_new_session=True, capture_output=True, env=os.environ, timeout=500, check=False
        )
        if ran.returncode == 0:
            break
        assert ran.returncode == -9, ran.stderr.decode()
        kills += 1
    assert kills >= 4, "each micro-batch was killed twice"
    faults.finish(faults.start(job))
    assert written(format, arguments(format, tmp_path, "counts")) == wanted(tmp_path / "source")


@pytest.mark.slow
def test_a_table_and_a_checkpoint_that_do_not_belong_together_are_refused(tmp_path, format, monkeypatch):
    monkeypatch.chdir(tmp_path)
    faults.write_source(tmp_path / "source", files=2)
    job = write_job(format, tmp_path)
    assert call("run", job).exit_code == 0
    once = written(format, arguments(format, tmp_path, "counts"))
    anew = call("run", job, "sink.checkpoint=another/")
    assert anew.exit_code == 1 and 'set sink.mode to "append"' in anew.stderr
    elsewhere = call("run", job, *(f"sink.{key}={value}" for key, value in keys(format, "elsewhere").items()))
    assert elsewhere.exit_code == 1 and "has no answers of this stream" in elsewhere.stderr
    assert written(format, arguments(format, tmp_path, "counts")) == once
