"""A service that is killed anywhere, as often as one likes, writes the rows of one that was not."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from tempfile import TemporaryDirectory

import kafka_broker
import postgres_server
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import redis_server
import sqlalchemy
from postgres_server import Postgres
from redis_server import RedisServer
from topic_trial import all_messages, newest_messages

JOB = """
name = "clients"
source = {{ format = "parquet", path = "in", stream = true, options = {{ maxFilesPerTrigger = 2 }} }}

[query]
kind = "distinct-count"
time = "ts"
item = "client"
by = ["status"]
windows = ["1 minute"]
every = "10 seconds"
delay = "1 second"
late_rows = {{ format = "parquet", path = "late" }}

[sink]
checkpoint = "checkpoint"
{sink}
"""
OFTEN = ["--set", "serve.commit=1 microsecond"]
TO_THE_END = [
    "--set",
    "source.finish=true",
    "--set",
    "sink.trigger=available-now",
]
FOLDER = 'format = "parquet"\npath = "counts"'
KILLER = """
import os, signal, sys, random
from skyband_serve import checkpoint, service, sinks, turns
from skyband_jobs.running import savepoint
from skyband_lakes.kafka import delivery
left = int(sys.argv[1])

def deadly(owner, name, first=lambda *_: None):
    usual = getattr(owner, name)
    def call(*args, **keys):
        global left
        for after in (False, True):
            left -= 1
            if left < 0:
                first(*args)
                os.kill(os.getpid(), signal.SIGKILL)
            if not after:
                result = usual(*args, **keys)
        return result
    setattr(owner, name, call)

deadly(turns.TurnLog, "append")
deadly(sinks.FolderSink, "write")
deadly(sinks.TableSink, "write")
deadly(checkpoint.Checkpoint, "saved")
deadly(savepoint, "to_disk")
deadly(delivery.Delivery, "_put", lambda _, producer, *rest: producer.flush(5))  # so that the broker has a part
service._SHARE = 0
from skyband.__main__ import main
sys.argv[1:] = ["serve", "job.toml", *sys.argv[2:]]
main()
"""


def rows_in(folder, files=12, rows=120):
    """A folder of files that come in the order of their numbers, some rows late."""
    chosen = random.Random(5)
    (folder / "in").mkdir()
    for number in range(files):
        at = [1_750_000_000_000_000 + (number * rows + row) * 90_000 for row in range(rows)]
        table = pa.table(
            {
                "ts": pa.array([time + chosen.randrange(3_000_000) for time in at], pa.timestamp("us", "UTC")),
                "client": [chosen.randrange(50) for _ in at],
                "status": [chosen.choice([200, 404]) for _ in at],
            }
        )
        path = folder / "in" / f"{number:03}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_000_000_000 + number,) * 2)


def service(folder, *arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


def whole(folder, name):
    table = pyarrow.dataset.dataset(folder / name).to_table()
    return sorted(map(str, table.to_pylist()))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The answers and late rows of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    rows_in(folder)
    (folder / "job.toml").write_text(JOB.format(sink=FOLDER))
    ran = service(folder, "-m", "skyband", "serve", "job.toml", *TO_THE_END)
    assert ran.returncode == 0, ran.stderr
    local = service(
        folder, "-m", "skyband", "run", "job.toml", "--engine", "local", *TO_THE_END, "--set", "sink.path=again",
        "--set", "query.late_rows.path=late again",
    )  # fmt: skip
    assert local.returncode == 0, local.stderr
    counts, late = whole(folder, "counts"), whole(folder, "late")
    assert (counts, late) == (whole(folder, "again"), whole(folder, "late again")) and len(late) > 5
    return counts, late


def killed_to_the_end(folder, begin, step, query=()):
    """Start the service again and again, each to be killed a little later, until it ends by itself."""
    kills = 0
    while True:
        ran = service(folder, "-c", KILLER, str(begin + step * kills), *TO_THE_END, *OFTEN, *query)
        if ran.returncode != -signal.SIGKILL:
            assert ran.returncode == 0, ran.stderr
            return kills
        kills += 1


@pytest.mark.parametrize(("begin", "step"), [(0, 11), pytest.param(3, 5, marks=pytest.mark.slow)])
def test_kills_at_every_kind_of_line_change_nothing_in_a_folder(tmp_path, undisturbed, begin, step):
    rows_in(tmp_path)
    (tmp_path / "job.toml").write_text(JOB.format(sink=FOLDER))
    kills = killed_to_the_end(tmp_path, begin, step)
    assert kills >= 3, "killed too late"
    assert (whole(tmp_path, "counts"), whole(tmp_path, "late")) == undisturbed


def sqlite(folder, name):
    with closing(sqlite3.connect(folder / "board.db")) as board:
        board.row_factory = sqlite3.Row
        return sorted(str(dict(row)) for row in board.execute(f'SELECT * FROM "{name}"'))


def delta(folder, name):
    from deltalake import DeltaTable

    return sorted(map(str, DeltaTable(str(folder / name)).to_pyarrow_table().to_pylist()))


def iceberg(folder, name):
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("default", uri=f"sqlite:///{folder}/lake.db", warehouse=str(folder / "lake"))
    return sorted(map(str, catalog.load_table(f"db.{name}").scan().to_arrow().to_pylist()))


EMBEDDED = {
    "sql": ('format = "sql"\nurl = "sqlite:///board.db"\ntable = "{name}"', sqlite),
    "delta": ('format = "delta"\npath = "{name}"', delta),
    "iceberg": (
        'format = "iceberg"\ntable = "db.{name}"\ncatalog = {{ uri = "sqlite:///lake.db", warehouse = "lake" }}',
        iceberg,
    ),
}


def calm_and_killed(folder, sink, query=(), begin=1, step=9):
    """Run a job undisturbed, and again with kills; both into sinks of these names."""
    rows_in(folder)
    for name in ("calm", "killed"):
        job = JOB.format(sink=sink.format(name=name)).replace('"checkpoint"', f'"checkpoint {name}"')
        (folder / "job.toml").write_text(job.replace('path = "late"', f'path = "late {name}"'))
        if name == "killed":
            assert killed_to_the_end(folder, begin, step, query) >= 3
        else:
            ran = service(folder, "-m", "skyband", "serve", "job.toml", *TO_THE_END, *query)
            assert ran.returncode == 0, ran.stderr
    assert whole(folder, "late killed") == whole(folder, "late calm")


@pytest.mark.parametrize(
    "kind", ["sql", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("delta", "iceberg"))]
)
def test_kills_change_nothing_in_tables(tmp_path, undisturbed, kind):
    sink, rows = EMBEDDED[kind]
    if kind == "iceberg":
        (tmp_path / "lake").mkdir()
    calm_and_killed(tmp_path, sink)
    assert rows(tmp_path, "killed") == rows(tmp_path, "calm")
    assert len(rows(tmp_path, "calm")) == len(undisturbed[0])


@pytest.mark.slow
@pytest.mark.skipif(postgres_server.lacking() is not None, reason=str(postgres_server.lacking()))
@pytest.mark.parametrize("answers", ["all", "current"])
def test_kills_change_nothing_in_a_database(tmp_path, undisturbed, answers):
    with TemporaryDirectory() as folder:  # which the user of the database reaches
        server = Postgres(folder)
        server.start()
        try:
            sink = f'format = "sql"\nurl = "{server.url}"\ntable = "{{name}}"'
            calm_and_killed(tmp_path, sink, ["--set", f"query.answers={answers}"])
            engine = sqlalchemy.create_engine(server.url)
            with engine.connect() as board:
                tables = [board.execute(sqlalchemy.text(f"SELECT * FROM {name}")) for name in ("calm", "killed")]
                calm, killed = (sorted(map(str, table)) for table in tables)
            engine.dispose()
        finally:
            server.stop()
    assert killed == calm != [] and (answers == "current" or len(calm) == len(undisturbed[0]))


def in_redis(client, name):
    return sorted(str(client.hgetall(f"{group}:rows")) for group in client.smembers(f"skyband_groups:{name}"))


@pytest.mark.slow
@pytest.mark.skipif(redis_server.lacking() is not None, reason=str(redis_server.lacking()))
def test_kills_change_nothing_in_redis(tmp_path):
    (tmp_path / "jobs").mkdir()
    server = RedisServer(tmp_path)
    server.start()
    try:
        sink = f'format = "redis"\nurl = "{server.url}"\ntable = "{{name}}"'
        calm_and_killed(tmp_path / "jobs", sink, ["--set", "query.answers=current"])
        with server.client() as client:
            calm, killed = (in_redis(client, name) for name in ("calm", "killed"))
    finally:
        server.kill()
    assert killed == calm != []


@pytest.mark.slow
@pytest.mark.parametrize("answers", ["all", "current"])
def test_kills_change_nothing_in_a_topic(tmp_path, undisturbed, answers):
    (tmp_path / "jobs").mkdir()
    with kafka_broker.running(tmp_path) as address:
        sink = f'format = "kafka"\ntable = "{{name}}"\noptions = {{{{ "kafka.bootstrap.servers" = "{address}" }}}}'
        calm_and_killed(tmp_path / "jobs", sink, ["--set", f"query.answers={answers}"])
        if answers == "current":
            calm, killed = (newest_messages(address, name) for name in ("calm", "killed"))
        else:
            calm, killed = ([value for _, value, _ in all_messages(address, name)] for name in ("calm", "killed"))
            assert len(calm) == len(undisturbed[0])
    assert killed == calm and calm


def test_a_signal_stops_it_after_a_turn_and_the_next_start_resumes(tmp_path, undisturbed):
    rows_in(tmp_path)
    (tmp_path / "job.toml").write_text(
        JOB.format(sink=FOLDER).replace(", finish = true", "").replace("available-now", "1 second")
    )
    started = subprocess.Popen(
        [sys.executable, "-m", "skyband", "serve", "job.toml"], cwd=tmp_path, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not list((tmp_path / "counts").glob("part-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(signal.SIGTERM)
    _, told = started.communicate(timeout=60)
    assert started.returncode == 130 and b"stopped; run it again to resume" in told, told
    assert [path.name for path in (tmp_path / "checkpoint").iterdir() if path.name.isdigit()]
    assert service(tmp_path, "-m", "skyband", "serve", "job.toml", *TO_THE_END).returncode == 0
    assert (whole(tmp_path, "counts"), whole(tmp_path, "late")) == undisturbed
