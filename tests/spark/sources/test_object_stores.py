"""Files and tables in an object store on Spark: its workers read them with the local engine's clients."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from object_store import SECRET, make_bucket, object_store
from pyarrow.fs import FileSelector
from skyband_jobs.tables.store_paths import store_path
from skyband_lakes.libraries import DELTA
from skyband_spark import side_outputs
from visits import CHECKPOINT, STREAM, Visits, visit

from ..conftest import rows_of
from ..test_sinks import call
from .test_direct_files import JOB, table

pytestmark = pytest.mark.spark


@pytest.fixture
def bucket(session, monkeypatch):
    with object_store() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
            # Workers have the environment of the session, which began before the server.
            monkeypatch.setitem(session.sparkContext.environment, name, value)
        yield make_bucket(environment, "visits")


def both(folder, job, *sets):
    """The answers of both engines, equal, and what Spark's run said."""
    said = call("run", job, *sets, f"sink.path={folder}/spark", engine="spark")
    assert said.exit_code == 0, said.stderr
    assert call("run", job, *sets, f"sink.path={folder}/local", engine="local").exit_code == 0
    one, other = (pq.read_table(folder / engine) for engine in ("spark", "local"))
    assert rows_of(one.to_pylist(), other.column_names) == rows_of(other.to_pylist(), other.column_names)
    assert len(one) >= 3 and SECRET not in said.stderr + said.stdout
    return said.stderr


def test_a_batch_is_read_by_the_workers_and_gives_the_rows_of_the_local_engine(bucket, tmp_path):
    for number in range(3):
        pq.write_table(table(number * 200), f"visits/in/{number}.parquet", filesystem=bucket, row_group_size=100)
    job = tmp_path / "job.toml"
    job.write_text(JOB.replace('path = "in"', 'path = "s3a://visits/in"').replace('"json"', '"parquet"'))
    assert "read by  Python, where rows are packed" in both(tmp_path, job)
    stream = call("check", job, "source.stream=true", "sink.checkpoint=checkpoint", engine="spark")
    assert "read by Spark (Spark lists the files of a stream, so it must reach them itself)" in stream.stderr


def test_a_store_that_python_does_not_reach_is_left_to_spark_and_check_says_why(bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    job = tmp_path / "job.toml"
    job.write_text(JOB.replace('path = "in"', 'path = "s3a://visits/in"'))
    said = call("check", job, engine="spark")
    assert said.exit_code == 0 and "read by Spark (Python cannot reach it: 's3a://visits/in' cannot" in said.stderr
    with_password = call("check", job, f"source.path=s3a://me:{SECRET}@visits/in", engine="spark")
    assert "Python cannot reach it: must not contain keys or passwords" in with_password.stderr
    assert with_password.exit_code == 0 and SECRET not in with_password.output
    said = call("check", job, "source.reader=files", engine="spark")
    assert said.exit_code == 1 and "set AWS_REGION, AWS_ACCESS_KEY_ID" in said.output


def test_a_delta_table_in_a_store_is_read_by_the_workers(bucket, tmp_path):
    if (lacking := DELTA.missing()) is not None:
        pytest.skip(lacking)
    rows = table(0).select(["ts", "client", "item"])
    rows = rows.set_column(1, "client", rows["client"].cast(pa.string()))
    DELTA.imported().write_deltalake("s3://visits/table", rows)
    job = tmp_path / "job.toml"
    job.write_text(
        JOB.replace('path = "in"\nformat = "parquet"', 'path = "s3://visits/table"\nformat = "delta"').replace(
            '"json"', '"parquet"'
        )
    )
    assert "read by  Python, where rows are packed" in both(tmp_path, job)


@pytest.mark.parametrize("format", ["json", "delta"])
def test_bad_rows_of_a_stream_go_to_a_store_or_wait_there_for_their_table(bucket, tmp_path, monkeypatch, format):
    """Without a mounted folder: the tasks write to the store with the clients that read there."""
    deltalake = pytest.importorskip("deltalake")
    monkeypatch.chdir(tmp_path)
    visits = Visits(tmp_path, "spark")
    visits.write("0", [visit(0, second, f"{second}", "west" if second == 2 else None) for second in range(5)], 1)
    sets = (*STREAM, CHECKPOINT)
    place = '{ format = "json", path = "s3://visits/bad" }'
    if format == "delta":
        place = '{ format = "delta", path = "bad" }'
        monkeypatch.setattr(side_outputs, "_waiting", lambda job, name: store_path(f"s3://visits/waiting-{name}"))
    ran = visits.run(f"bad_rows = {place}", *sets)
    assert ran.exit_code == 0, ran.stderr
    listed = bucket.get_file_info(FileSelector("visits", recursive=True))
    files = [info.path for info in listed if info.is_file and info.path.startswith(("visits/bad", "visits/waiting"))]
    if format == "delta":
        assert deltalake.DeltaTable(tmp_path / "bad").to_pyarrow_table()["client"].to_pylist() == ["2"]
        assert not [path for path in files if "waiting" in path]
    else:
        assert files == ["visits/bad/micro_batch=0/shard-00000.json"]
        assert json.loads(bucket.open_input_file(files[0]).read())["client"] == "2"
