"""Workers in separate processes: with the same environment, with another, from an archive, behind Spark Connect."""

import os
import random
import subprocess
import sys
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest
from skyband import spark
from skyband.engines import local
from skyband.queries import make_query

from . import faults
from .conftest import rows_of
from .environments import make_environment, pack

pytestmark = pytest.mark.spark


@pytest.fixture
def visits(session, tmp_path):
    faults.write_source(tmp_path / "source", files=3)
    return session.read.schema(faults.SCHEMA).parquet(str(tmp_path / "source"))


DIFFERENT = {
    "no skyband": ({"skyband": None, "skyband-distinct": None, "skyband-panes": None}, ("skyband", "has none")),
    "older skyband": ({"skyband": "0.0.9"}, ("skyband", "0.0.9")),
    "no plugin": ({"skyband-distinct": None}, ("skyband-distinct", "has none")),
    "newer plugin": ({"skyband-distinct": "0.1.7"}, ("skyband-distinct", "0.1.7")),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_an_executor_with_other_code_says_which(session, visits, tmp_path, monkeypatch, name):
    changed, (distribution, here) = DIFFERENT[name]
    monkeypatch.setattr(session.sparkContext, "pythonExec", str(make_environment(tmp_path / "env", changed)))
    wanted = f"skyband.errors.PluginError: the driver has {distribution} 0.1.0, this executor {here}"
    with pytest.raises(Exception, match=wanted):
        spark.apply(visits, faults.QUERY, shards=2).collect()
    if name in ("no skyband", "no plugin"):
        source = session.readStream.schema(faults.SCHEMA).parquet(str(tmp_path / "source"))
        answers = spark.apply(source, faults.QUERY, shards=2).writeStream.format("noop")
        started = answers.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
        with pytest.raises(Exception, match=wanted):
            started.awaitTermination()


def test_an_executor_with_the_same_code_answers(session, visits, tmp_path, monkeypatch):
    expected = rows_of(local.apply(visits.toArrow(), make_query(faults.QUERY)).to_pylist(), ["at", "count"])
    monkeypatch.setattr(session.sparkContext, "pythonExec", str(make_environment(tmp_path / "env")))
    assert rows_of(spark.apply(visits, faults.QUERY, shards=2).collect(), ["at", "count"]) == expected


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 10])
def test_a_cluster_with_an_archive_survives_lost_executors(session, tmp_path, kills):
    """Every executor unpacks the environment, compiles into NUMBA_CACHE_DIR, and is replaced when it is killed."""
    faults.write_source(tmp_path / "source", files=kills + 4)
    calm = spark.apply(session.read.schema(faults.SCHEMA).parquet(str(tmp_path / "source")), faults.QUERY, shards=2)
    latest = session.read.parquet(str(tmp_path / "source")).agg({"ts": "max"}).collect()[0][0]
    make_environment(tmp_path / "env")
    pack(tmp_path / "env", tmp_path / "env.tar.gz")
    (tmp_path / "cache").mkdir()
    settings = f"""
"spark.archives" = "{tmp_path / "env.tar.gz"}#env"
"spark.executorEnv.NUMBA_CACHE_DIR" = "{tmp_path / "cache"}"
"spark.executor.memory" = "1g"
"spark.task.maxFailures" = 8
"""
    job = faults.write_job(tmp_path, "cluster", "local-cluster[2,1,1024]", settings)
    home = str(Path(find_spec("pyspark").origin).parent)
    process = faults.start(job, SPARK_HOME=home, PYSPARK_PYTHON="./env/bin/python", PYTHONPATH="")
    chance, killed = random.Random(kills), 0
    try:
        for _ in range(kills):
            if faults.after_next_commit(process, tmp_path / "checkpoint of cluster", chance.uniform(0, 2.0)):
                killed += faults.kill_one(faults.children(process.pid, "CoarseGrainedExecutorBackend"))
        faults.finish(process)
    finally:
        if process.poll() is None:
            faults.kill_group(process)
    assert killed >= max(1, kills // 2)
    names = ["place", "at", "window", "count"]
    expected = rows_of(up_to(calm.collect(), latest), names)
    assert rows_of(session.read.parquet(str(tmp_path / "cluster")).collect(), names) == expected
    assert list((tmp_path / "cache").rglob("*.nbi")), "the workers compiled into NUMBA_CACHE_DIR"


def up_to(answers, latest):
    """What a stream has answered: the moments up to its watermark, `delay` before the latest row."""
    return [row for row in answers if row["at"] <= latest - timedelta(seconds=5)]


CONNECT = """
import sys
from pyspark.sql import Observation, SparkSession
from skyband import spark

query, schema, folder = eval(sys.argv[1]), sys.argv[2], sys.argv[3]
builder = SparkSession.builder.remote("local[2]")
for name, value in {**spark.SETTINGS, "spark.sql.shuffle.partitions": "2"}.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
seen = Observation("skyband")
files = session.read.schema(schema).parquet(folder)
print(len(spark.apply(files, query, shards=2, observe=seen).collect()), seen.get["rows_in"])
stream = spark.apply(session.readStream.schema(schema).parquet(folder), query, shards=2)
started = stream.writeStream.format("parquet").option("path", folder + "-out")
started = started.option("checkpointLocation", folder + "-checkpoint").trigger(availableNow=True).start()
started.awaitTermination()
print(session.read.parquet(folder + "-out").count())
"""


@pytest.mark.slow
def test_spark_connect_answers_in_batch_and_as_a_stream(session, visits, tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    answers = spark.apply(visits, faults.QUERY, shards=2).collect()
    latest = visits.agg({"ts": "max"}).collect()[0][0]
    call = [sys.executable, "-c", CONNECT, repr(faults.QUERY), faults.SCHEMA, str(tmp_path / "source")]
    env = {key: value for key, value in os.environ.items() if key != "PYSPARK_SUBMIT_ARGS"}
    ran = subprocess.run(call, capture_output=True, text=True, check=False, env=env, timeout=500)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split()[-3:] == [str(len(answers)), "1500", str(len(up_to(answers, latest)))]
