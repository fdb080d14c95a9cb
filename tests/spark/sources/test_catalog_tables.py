"""Tables by name, in the session's catalogue: read, written, and checked before anything is written."""

import pytest
from click.testing import CliRunner
from pyspark.errors.exceptions.captured import StreamingQueryException
from skyband.cli.commands import group
from skyband.engines import local
from skyband.errors import SkybandError
from skyband.queries import make_query
from skyband_distinct.demo.weblog import make_weblog
from skyband_jobs.job.progress import Progress
from skyband_jobs.programs.run import run_job
from skyband_spark.errors import plain_errors

pytestmark = pytest.mark.spark

QUERY = {"kind": "distinct-count", "time": "ts", "item": "client", "windows": ["1 hour"], "every": "30 minutes"}
JOB = """
[source]
format = "table"
table = "shop.requests"

[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["1 hour"]
every = "30 minutes"

[backends]
sketch = "exact"

[sink]
format = "table"
table = "shop.counts"
"""
STREAM = "source.stream=true", "source.finish=true", "sink.trigger=available-now", "sink.checkpoint=checkpoint"


@pytest.fixture
def shop(session, tmp_path):
    """A schema of the session's catalogue with a table of requests, and a job over it."""
    LOG.write(tmp_path / "files")
    session.sql(f"CREATE DATABASE shop LOCATION '{tmp_path}/shop'")
    session.read.parquet(str(tmp_path / "files")).write.saveAsTable("shop.requests")
    (tmp_path / "job.toml").write_text(JOB)
    yield tmp_path
    session.sql("DROP DATABASE shop CASCADE")


LOG = make_weblog(3_000)


def run(folder, *sets, engine="spark"):
    changes = [part for change in sets for part in ("--set", change)]
    return CliRunner().invoke(group, ["run", str(folder / "job.toml"), "--engine", engine, *changes])


def answers(session, name="shop.counts"):
    return sorted(map(tuple, session.table(name).select("at", "window", "count").collect()))


def test_a_batch_from_one_table_into_another(session, shop):
    rows = session.table("shop.requests").toArrow()
    expected = local.apply(rows, make_query(QUERY), {"sketch": "exact"})
    ran = run(shop)
    assert ran.exit_code == 0, ran.output
    assert session.table("shop.counts").count() == len(expected) > 5
    before = answers(session)
    again = run(shop)
    assert again.exit_code == 1
    assert "sink.table: 'shop.counts' already exists" in again.output
    assert run(shop, "sink.mode=ignore").exit_code == 0
    assert run(shop, "sink.mode=overwrite").exit_code == 0
    assert answers(session) == before
    assert run(shop, "sink.mode=append").exit_code == 0
    assert answers(session) == sorted(2 * before)


def test_a_stream_continues_from_one_table_into_another(session, shop):
    assert run(shop).exit_code == 0
    batch = answers(session)
    session.sql("CREATE TABLE shop.streamed LIKE shop.counts")
    for _ in range(2):
        ran = run(shop, *STREAM, "sink.table=shop.streamed")
        assert ran.exit_code == 0, ran.output
        assert answers(session, "shop.streamed") == batch
    lost = run(shop, *STREAM, "sink.table=shop.streamed", "sink.checkpoint=another")
    assert lost.exit_code == 1
    assert "sink.table: " in lost.output and "has the answers of another stream" in lost.output


def test_a_table_keeps_the_order_of_its_columns(session, shop):
    assert run(shop).exit_code == 0
    names = session.table("shop.counts").columns
    session.sql(f"CREATE TABLE shop.turned AS SELECT {', '.join(reversed(names))} FROM shop.counts WHERE false")
    assert run(shop, "sink.table=shop.turned", "sink.mode=append").exit_code == 0
    assert session.table("shop.turned").columns == names[::-1]
    assert answers(session, "shop.turned") == answers(session)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (["source.table=shop.request"], "source.table: there is no table 'shop.request' in Spark's catalogue; did you"),
        (["source.table=sho.requests"], "nor a schema 'sho' with tables in it"),
        (["sink.table=shop.other"], "'shop.other' has other columns (at missing"),
        (["sink.table=shop.requests"], "is the source: choose another table"),
        (["sink.path=x"], "sink.path: is set by the catalogue: remove it"),
        (["source.catalog={uri='x'}"], "source.catalog: belongs in Spark's settings"),
    ],
)
def test_problems_are_reported_before_anything_is_written(session, shop, sets, message):
    session.sql("CREATE TABLE shop.other (n BIGINT, count BIGINT) USING parquet")
    ran = run(shop, *sets, "sink.mode=append")
    assert ran.exit_code == 1
    assert message in ran.output
    assert not session.catalog.tableExists("shop.counts")
    assert session.table("shop.other").count() == 0


class Dropping(Progress):
    """Drops a table once the first micro-batch has ended."""

    def __init__(self, session, table):
        super().__init__()
        self._session, self._table = session, table

    def micro_batch(self, totals, always=False):
        super().micro_batch(totals, always)
        self._session.sql(f"DROP TABLE IF EXISTS {self._table}")


@pytest.mark.parametrize("key", ["sink.table", "source.table"])
def test_a_table_that_is_dropped_while_a_stream_runs_ends_it_by_its_key(session, shop, key):
    session.read.parquet(str(shop / "files")).repartition(4).write.saveAsTable("shop.parts")
    dropped = {"sink.table": "shop.streamed", "source.table": "shop.parts"}[key]
    sets = [*STREAM, "source.table=shop.parts", "sink.table=shop.streamed", "source.options={maxFilesPerTrigger=1}"]
    # Which it is depends on whether a task reads or writes just then.
    gone = r"sink.table: the table .* is gone|a file of the source is gone|it disappeared while the job ran"
    with pytest.raises(SkybandError, match=gone):
        run_job(shop / "job.toml", sets, progress=Dropping(session, dropped))
    assert not session.streams.active
    again = run(shop, *sets)
    assert again.exit_code == 1
    told = "'shop.streamed' is gone, but the checkpoint" if key == "sink.table" else "there is no table 'shop.parts'"
    assert f"{key}: {told}" in again.output


def test_a_file_deleted_with_its_table_while_it_is_written_is_reported_though_spark_ignores_it(session):
    """Spark's text says that a task failed to write; what it met stands in a cause of Java, as a full disk does."""
    java = session.sparkContext._jvm
    lost = java.java.io.FileNotFoundException("File file:/shop/streamed/part-0.parquet does not exist")
    failed = "[STREAM_FAILED] Query [id = 0] terminated with exception: [TASK_WRITE_FAILED] Task failed."
    origin = java.java.lang.RuntimeException(failed, java.java.lang.RuntimeException("wrapped", lost))
    with (
        pytest.raises(SkybandError, match=r"part-0.parquet does not exist: it disappeared while the job ran"),
        plain_errors(),
    ):
        raise StreamingQueryException(origin=origin)
    with pytest.raises(SkybandError, match=r"^Spark: \[TASK_WRITE_FAILED\] Task failed.$"), plain_errors():
        raise StreamingQueryException(origin=java.java.lang.RuntimeException(failed))
    unread = "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:///shop/0.parquet."
    with pytest.raises(SkybandError, match=r"0.parquet.: a file of the source is gone"), plain_errors():
        raise StreamingQueryException(origin=java.java.lang.RuntimeException(unread, lost))


def test_without_spark_there_is_no_such_catalogue(shop):
    ran = run(shop, engine="local")
    assert "source.format: a table of Spark's catalogue: use --engine spark" in ran.output
