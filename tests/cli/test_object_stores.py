"""Files in an object store are read like local ones, with the settings of the environment."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from object_store import SECRET, make_bucket, object_store
from skyband.cli.commands import group

JOB = """
[source]
path = "{path}"
format = "{format}"
schema = "ts TIMESTAMP, who STRING, place STRING"

[query]
kind = "distinct-count"
time = "ts"
item = "who"
by = ["place"]
windows = ["1 hour"]
every = "1 hour"

[sink]
format = "console"
"""
VISITS = pa.table(
    {
        "ts": pa.array([5, 20, 65, 130], pa.timestamp("s", "UTC")).cast(pa.timestamp("us", "UTC")),
        "who": ["ann", "bob", "ann", "cho"],
    }
)


@pytest.fixture(scope="module")
def environment():
    with object_store() as environment:
        yield environment


@pytest.fixture(autouse=True)
def _in_it(environment, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def bucket(environment):
    """The same rows in each format, in folders that are columns, and next to them files without data."""
    store = make_bucket(environment, "visits")
    lines = [f"{row['ts']:%Y-%m-%dT%H:%M:%SZ},{row['who']}" for row in VISITS.to_pylist()]
    texts = {
        "csv": ("\n".join(["ts,who", *lines]) + "\n").encode(),
        "json": "".join(
            json.dumps(dict(zip(("ts", "who"), line.split(","), strict=True))) + "\n" for line in lines
        ).encode(),
    }
    for place in ("north", "south"):
        pq.write_table(VISITS, f"visits/parquet/place={place}/a.parquet", filesystem=store)
        for name, text in texts.items():
            with store.open_output_stream(f"visits/{name}/place={place}/a.{name}") as file:
                file.write(text)
    for hidden in ("parquet/_SUCCESS", "parquet/.hidden/place=x/a.parquet", "csv/place=north/_a.csv"):
        with store.open_output_stream(f"visits/{hidden}", compression=None) as file:
            file.write(b"no rows")
    with store.open_output_stream("visits/gz/place=north/a.csv.gz", compression=None) as file:
        file.write(gzip.compress(texts["csv"]))
    return store


def call(folder, path, format, command="run", *sets, engine="local"):
    job = folder / "job.toml"
    options = "\noptions = { header = true }" if format == "csv" else ""
    job.write_text(JOB.format(path=path, format=format).replace('"\nschema', f'"{options}\nschema'))
    changes = [part for change in sets for part in ("--set", change)]
    called = CliRunner().invoke(group, [command, str(job), "--engine", engine, *changes])
    assert SECRET not in called.output + called.stderr
    return called


def counts(called):
    assert called.exit_code == 0, called.stderr
    return sorted((line.split()[-2:]) for line in called.stdout.splitlines()[1:] if line.strip())


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_folder_a_file_and_a_pattern_are_read(bucket, tmp_path, format):
    whole = counts(call(tmp_path, f"s3://visits/{format}", format))
    assert len(whole) == 2, whole
    assert counts(call(tmp_path, f"s3a://visits/{format}/", format)) == whole
    pattern = f"s3://visits/{format}/place=*/*.{format}"
    assert counts(call(tmp_path, pattern, format)) == whole
    at_once = ["source.stream=true", "source.finish=true", "source.options.maxFilesPerTrigger=9"]
    stream = call(tmp_path, pattern, format, "run", *at_once, "sink.trigger=available-now")
    assert counts(stream) == whole
    one = counts(call(tmp_path, f"s3://visits/{format}/place=north", format, "run", "query.by=[]"))
    assert [row[-1] for row in one] == ["3"]


def test_a_compressed_file_is_read(bucket, tmp_path):
    assert len(counts(call(tmp_path, "s3://visits/gz", "csv"))) == 1


def test_what_is_wrong_with_a_file_is_told_with_its_address(bucket, tmp_path):
    with bucket.open_output_stream("visits/bad/a.csv") as file:
        file.write(b"ts,who,place\n2026-01-01T00:00:00Z,ann,x\nyesterday,bob,x\n")
    said = call(tmp_path, "s3://visits/bad", "csv").stderr
    assert "s3://visits/bad/a.csv" in said and "yesterday" in said, said


def test_what_is_missing_or_unreachable_is_reported_with_a_remedy(bucket, tmp_path, monkeypatch):
    monkeypatch.delenv("CLASSPATH", raising=False)
    for path, told in (
        ("s3://visits/nothing", "'s3://visits/nothing' does not exist"),
        ("s3://visits/*.parquet", "no file matches 's3://visits/*.parquet'"),
        (f"s3://me:{SECRET}@visits/parquet", "must not contain keys or passwords: set them in the environment"),
        ("hdfs://visits/parquet", "hdfs:// cannot be read here: set HADOOP_HOME and CLASSPATH in the environment"),
        ("nowhere://visits/parquet", "nowhere:// cannot be read here: "),
    ):
        called = call(tmp_path, path, "parquet", "check")
        assert called.exit_code == 1 and told in called.output, called.output
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    called = call(tmp_path, "s3://visits/parquet", "parquet", "check")
    assert called.exit_code == 1
    assert "'s3://visits/parquet' cannot be reached (" in called.output
    assert "set AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment" in called.output
