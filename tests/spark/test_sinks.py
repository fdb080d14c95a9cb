"""Sources and sinks as the pages in core/docs/run say: every block runs or is checked."""

import io
import json
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import Observation
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from skyband import spark
from skyband.cli.commands import group
from skyband.engines import local
from skyband.queries import make_query
from skyband_jobs.formats import open_table

from . import faults
from .conftest import rows_of, up_to_watermark
from .documents import blocks

pytestmark = pytest.mark.spark

NIGHTLY, RATE, DELTA, NAMED = blocks("run/sources.md", "toml")
KAFKA, LOG, BOARD, TOPIC = blocks("run/kafka.md", "toml")
LAKE, SQL, REDIS, ICEBERG = (
    block for page in ("delta", "databases", "redis", "iceberg") for block in blocks(f"run/{page}.md", "toml")
)


def call(command, job, *sets, engine=None):
    changes = [part for change in sets for part in ("--set", change)]
    return CliRunner().invoke(group, [command, str(job), *([] if engine is None else ["--engine", engine]), *changes])


@pytest.fixture
def visits(session, tmp_path):
    """A stream over three files."""
    faults.write_source(tmp_path / "source", files=3)
    source = session.readStream.schema(faults.SCHEMA).option("maxFilesPerTrigger", 1)
    return source.parquet(str(tmp_path / "source"))


def expected(folder):
    asked, table = make_query(faults.QUERY), pq.read_table(folder)
    return up_to_watermark(local.apply(table, asked), table, asked)


def test_foreach_batch_overwrites_what_it_wrote_before_a_crash(session, visits, tmp_path):
    (recipe,) = (block for block in blocks("run/sources.md", "python") if "foreachBatch" in block)
    names = {"counts": str(tmp_path / "counts"), "checkpoint": str(tmp_path / "checkpoint")}
    answers = spark.apply(visits, faults.QUERY, shards=2)
    exec(recipe, {**names, "answers": answers})
    # A crash between the write and Spark's commit: the last micro-batch is not known to have happened.
    last = max((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    exec(recipe, {**names, "answers": answers})
    wanted = expected(tmp_path / "source")
    written = session.read.parquet(str(tmp_path / "counts")).collect()
    assert rows_of(written, wanted.column_names) == rows_of(wanted.to_pylist(), wanted.column_names)


AVRO = {
    "type": "record",
    "name": "request",
    "fields": [
        {"name": "client", "type": ["null", "string"]},
        {"name": "more", "type": {"type": "array", "items": "int"}},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    ],
}


@pytest.fixture
def registry():
    """The address of a server that answers for the schema of number 7 as a registry does."""

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/schemas/ids/7" else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"schema": json.dumps(AVRO)}).encode())

        def log_message(self, *_):
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_avro_from_a_registry_is_decoded_and_anything_else_is_left_out(session, registry):
    fastavro = pytest.importorskip("fastavro")
    (recipe,) = (block for block in blocks("run/kafka.md", "python") if "fastavro" in block)
    values = [b"\x01no such message", b"", None]
    cut_short, unknown_schema = (b"\0" + number.to_bytes(4) + b"\2" for number in (7, 8))
    for second in range(5):
        out = io.BytesIO()
        fastavro.schemaless_writer(
            out, AVRO, {"client": f"c{second % 3}", "more": [1, 2], "ts": second * 1_000_000 + 1_767_225_600_000_000}
        )
        values.append(b"\0" + (7).to_bytes(4) + out.getvalue())
    names = {
        "registry": registry,
        "messages": session.createDataFrame(
            [(value,) for value in [*values, cut_short, unknown_schema]], "value BINARY"
        ),
    }
    exec(recipe, names)
    query = {"kind": "distinct-count", "time": "ts", "item": "client", "windows": ["1 minute"], "every": "1 minute"}
    observed = Observation()
    answers = spark.apply(names["requests"], query, {"sketch": "exact"}, observe=observed).collect()
    assert [(row.at.minute, row["count"]) for row in answers] == [(1, 3.0)]
    assert (observed.get["rows_in"], observed.get["rows_null_time"]) == (10, 5)


def test_memory(session, visits, tmp_path):
    answers = spark.apply(visits, faults.QUERY, shards=2).writeStream.format("memory").queryName("remembered")
    answers.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()
    wanted = expected(tmp_path / "source")
    remembered = session.table("remembered").collect()
    assert rows_of(remembered, wanted.column_names) == rows_of(wanted.to_pylist(), wanted.column_names)


def test_rate(session, tmp_path):
    """rate-micro-batch makes the same rows every time: a thousand a micro-batch, a minute apart."""
    source = session.readStream.format("rate-micro-batch").options(
        rowsPerBatch=1000, startTimestamp=0, advanceMillisPerBatch=60_000
    )
    query = {"kind": "distinct-count", "time": "ts", "item": "client", "windows": ["3 minutes"], "every": "1 minute"}
    made = source.load().selectExpr("timestamp AS ts", "value % 700 AS client")
    counts = spark.apply(made, query, {"sketch": "exact"}).writeStream.format("memory").queryName("rated")
    started = counts.option("checkpointLocation", str(tmp_path / "c")).start()
    while started.isActive and len(started.recentProgress) < 5:
        started.awaitTermination(0.2)
    started.stop()
    assert started.exception() is None
    rated = sorted(tuple(row) for row in session.table("rated").select("at", "count").collect())
    assert len(rated) >= 3
    assert [count for _, count in rated[:3]] == [700.0] * 3
    assert [at.minute for at, _ in rated[:3]] == [1, 2, 3]


def test_the_jobs_of_the_page_have_no_problems(tmp_path):
    (tmp_path / "requests").mkdir()
    for number, text in enumerate((NIGHTLY, RATE, KAFKA, LAKE, ICEBERG, NAMED)):
        job = tmp_path / f"job{number}.toml"
        job.write_text(text)
        checked = call("check", job)
        assert checked.exit_code == 0, checked.stdout
    assert set(tomllib.loads(DELTA)) == {"spark"}
    job.write_text(TOPIC)
    checked = call("check", job)
    assert checked.exit_code == 1 and "source.schema: is for the local engine" in checked.stdout


@pytest.mark.parametrize(("text", "library"), [(NIGHTLY, "pyarrow"), (ICEBERG, "pyiceberg")])
def test_the_nightly_job_resumes_where_it_ended(session, tmp_path, text, library):
    pytest.importorskip(library)
    (tmp_path / "job.toml").write_text(text)
    (tmp_path / "requests").mkdir()
    names = {"query.item": "who", "source.schema": "ts TIMESTAMP, who STRING"}
    sets = [f"{name}={value}" for name, value in names.items()]
    sets += ['query.windows=["30 seconds"]', "query.every=10 seconds", "query.delay=5 seconds"]
    for night in range(2):
        faults.write_file(tmp_path / "requests", night)
        ran = call("run", tmp_path / "job.toml", *sets)
        assert ran.exit_code == 0, ran.stderr
        assert "1 micro-batch" in ran.stderr
    keys = {"windows": ["30 seconds"], "every": "10 seconds", "delay": "5 seconds"}
    asked = make_query({"kind": "distinct-count", "time": "ts", "item": "who", **keys})
    table = pq.read_table(tmp_path / "requests")
    wanted = up_to_watermark(local.apply(table, asked), table, asked)
    if text == NIGHTLY:
        written = session.read.parquet(str(tmp_path / "counts")).collect()
    else:
        found = open_table("iceberg", "web.counts", {"uri": f"sqlite:///{tmp_path}/lake.db"})
        written = [row for batch in found.batches(found.schema.names) for row in batch.to_pylist()]
    assert rows_of(written, wanted.column_names) == rows_of(wanted.to_pylist(), wanted.column_names)


class Messages(DataSource):
    """Has Kafka's columns, and refuses options that Kafka's connector would not take."""

    @classmethod
    def name(cls):
        return "messages"

    def schema(self):
        where = "topic STRING, partition INT, offset BIGINT"
        return f"key BINARY, value BINARY, {where}, timestamp TIMESTAMP, timestampType INT"

    def reader(self, schema):
        return _Reader(dict(self.options))


class _Reader(DataSourceReader):
    def __init__(self, options):
        known = {"kafka.bootstrap.servers", "subscribe", "startingoffsets", "maxoffsetspertrigger", "failondataloss"}
        got = {name.lower() for name in options}
        if got != known:
            raise ValueError(f"options {sorted(got)}, not {sorted(known)}")
        self.topic = options["subscribe"]

    def partitions(self):
        return [InputPartition(number) for number in range(2)]

    def read(self, partition):
        from datetime import UTC, datetime, timedelta

        start = datetime(2026, 1, 1, tzinfo=UTC)
        for second in range(partition.value, 1200, 2):
            value = f'{{"client": "c{second % 7}"}}'.encode()
            yield None, value, self.topic, partition.value, second // 2, start + timedelta(seconds=second), 0


def test_kafkas_options_and_columns_as_far_as_there_is_no_broker(session, tmp_path):
    session.dataSource.register(Messages)
    (tmp_path / "job.toml").write_text(KAFKA.replace('checkpoint = "checkpoint/"\n', ""))
    ran = call("run", tmp_path / "job.toml", "source.format=messages", "source.stream=false")
    assert ran.exit_code == 0, ran.stderr
    counts = pa.Table.from_pylist([row.asDict() for row in session.read.parquet(str(tmp_path / "counts")).collect()])
    assert len(counts) == 20
    assert all(abs(count - 7) < 0.1 for count in counts["count"].to_pylist())


def test_a_missing_connector_is_reported_in_one_sentence(session, tmp_path):
    (tmp_path / "job.toml").write_text(KAFKA)
    ran = call("run", tmp_path / "job.toml")
    assert ran.exit_code == 1
    assert "Failed to find data source: kafka" in ran.stderr
    assert "Traceback" not in ran.stderr
