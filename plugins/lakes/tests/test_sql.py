"""Database tables: a job's answers, the newest or all, and changes by other programs meanwhile."""

import decimal
import random
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, nullcontext

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from board import KEY, QUERY, BoardJob, newest, visits
from skyband.engines import local
from skyband.errors import ConfigError, EngineError
from skyband_jobs.formats import InstalledFormat, open_sink, open_table
from skyband_lakes.sql import database
from skyband_lakes.sql.format import SqlFormat

sqlalchemy = pytest.importorskip("sqlalchemy")
pytest.importorskip("skyband_totals")  # the query of the job below; the plugin may be alone

SINK = """format = "sql"
url = "sqlite:///board.db"
"""


@pytest.fixture
def call(tmp_path):
    return BoardJob(tmp_path, SINK)


def board(path, columns="host, window, rank, object, total"):
    with closing(sqlite3.connect(path)) as database:
        return sorted(database.execute(f"SELECT {columns} FROM board").fetchall(), key=repr)


def test_a_table_holds_the_newest_answer(call, tmp_path):
    ran = call()
    assert ran.exit_code == 0, ran.stderr
    assert board(tmp_path / "board.db") == newest(visits()) != []
    again = call()
    assert again.exit_code == 1 and "sink.table: 'board' already exists" in again.stderr, again.stderr
    for mode in ("append", "overwrite"):
        assert call("run", f"sink.mode={mode}").exit_code == 0
        assert board(tmp_path / "board.db") == newest(visits()), mode


def test_all_answers_are_appended_if_requested(call, tmp_path):
    assert call("run", "query.answers=all").exit_code == 0
    answers = local.apply(visits(), QUERY)
    assert len(board(tmp_path / "board.db")) == len(answers) > len(newest(visits()))


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (
            ["sink.format=parquet", "sink.path=out"],
            "sink.format: parquet only adds rows, so it cannot hold the newest answers: write to delta, iceberg, ",
        ),
        (["sink.format=console"], "sink.format: console only adds rows"),
        (["sink.url=sqlite://"], "sink.url: a database in memory is lost after the run: name a file"),
        (["sink.url=nonsense"], "sink.url: must be a SQLAlchemy URL"),
        (["sink.url=frobnicate://x/y"], "sink.url: SQLAlchemy has no dialect 'frobnicate'"),
        (["sink.url=oracle://x/y"], "sink.url: oracle needs "),
        (["sink.path=out"], "sink.path: is for files: name the database with url"),
        (["sink.options.retries=3"], "sink.options.retries: is not an option of sql"),
        (["sink.options.retry_seconds=soon"], "sink.options.retry_seconds: must be a number of seconds"),
        (["query.changed=pace"], "query.changed: the answers have no column 'pace'"),
    ],
)
def test_wrong_keys_of_a_job_are_reported_before_it_runs(call, tmp_path, sets, told):
    checked = call("check", *sets)
    assert checked.exit_code == 1 and told in checked.stdout, checked.stdout
    assert not (tmp_path / "board.db").exists(), "a check creates no database"


def test_a_job_reads_the_table_that_another_wrote(call, tmp_path):
    assert call("run", "query.answers=all").exit_code == 0
    source = ["source.format=sql", "source.url=sqlite:///board.db", "source.table=board", "-source.path"]
    into = [
        "query.time=at",
        "query.object=object",
        "query.answers=all",
        "sink.format=parquet",
        "sink.path=again",
        "-sink.url",
        "-sink.table",
    ]
    for command in ("check", "run"):
        called = call(command, *source, *into, "source.where=rank = 1")
        assert called.exit_code == 0, called.output
    answers = local.apply(visits(), QUERY)
    first = answers.filter(pc.equal(answers["rank"], 1)).drop_columns("window")
    again = local.apply(first, {**QUERY, "time": "at", "object": "object"})
    assert pq.read_table(tmp_path / "again").equals(again) and len(again)


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (["source.table=bord"], "source.table: there is no table 'bord' in the database sqlite:///"),
        (["source.url=sqlite:///none.db"], "source.table: there is no table 'board' in the database sqlite:///"),
        (['source.schema="at TIMESTAMP"'], "source.schema: a table in sql has its own schema"),
        (["source.format=json"], "source.url: is only for databases: remove it (got format 'json')"),
    ],
)
def test_wrong_keys_of_a_source_are_reported_before_it_is_read(call, tmp_path, sets, told):
    made(tmp_path / "board.db", "CREATE TABLE board (ts DATETIME, page TEXT, host TEXT)")
    source = ["source.format=sql", "source.url=sqlite:///board.db", "source.table=board", "-source.path"]
    lacking = call("check", "source.format=sql", "source.table=board", "-source.path")
    assert "source.url: is required for sql" in lacking.stdout
    checked = call("check", *source, *sets, "sink.table=other")
    assert checked.exit_code == 1 and told in checked.stdout, checked.stdout
    assert not (tmp_path / "none.db").exists()
    on_spark = call("check", *source, engine="spark")
    assert on_spark.exit_code == 1 and "source.format: sql is for --engine local; " in on_spark.stdout


def table_at(url, columns=None):
    table = open_table("sql", url, {"table": "board"})
    names = columns or table.schema.names
    return pa.Table.from_batches(table.batches(names), pa.schema([table.schema.field(name) for name in names]))


EVERY_TYPE = pa.table(
    {
        "at": pa.array([1, None, 10**15], pa.timestamp("us", "UTC")),
        "flag": [True, None, False],
        "whole": pa.array([-(2**63), None, 2**63 - 1]),
        "real": [1.5, None, -0.0],
        "text": ["a", None, ""],
        "day": pa.array([1, None, -1], pa.date32()),
        "bytes": [b"\0", None, b""],
    }
)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_rows_are_read_as_they_were_written(kind, tmp_path):
    url = f"{kind}:///{tmp_path}/board.db"
    if kind == "duckdb":
        pytest.importorskip("duckdb_engine")
    sink = open_sink("sql", url, {"table": "board"})
    sink.append(EVERY_TYPE)
    assert table_at(url).cast(EVERY_TYPE.schema).equals(EVERY_TYPE)
    assert table_at(url, ["text", "at"]).column_names == ["text", "at"]
    versions = [open_table("sql", url, {"table": "board"}).version]
    for batch in range(3):
        sink.write(EVERY_TYPE.slice(0, 0), "one", batch)
        versions.append(open_table("sql", url, {"table": "board"}).version)
    sink.append(EVERY_TYPE)
    versions.append(open_table("sql", url, {"table": "board"}).version)
    assert len({*versions}) == 5
    random_streams = random.Random(5).choices(["one", "two", "three"], k=12)
    numbers = {"one": 2, "two": -1, "three": -1}
    for stream in random_streams:
        numbers[stream] += 1
        sink.write(EVERY_TYPE.slice(0, 0), stream, numbers[stream])
        versions.append(open_table("sql", url, {"table": "board"}).version)
    assert len({*versions}) == 17, "for any stream, and any number of batches"


WHOLE = [0, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 1]
CENTS = [decimal.Decimal(text) for text in ("0.10", "-1234567890123.45", "1234567890123456.78", "90071992547409.93")]


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_no_number_is_rounded_silently(kind, tmp_path):
    """Numbers are read as written, to the last digit, or refused by column and value."""
    if kind == "duckdb":
        pytest.importorskip("duckdb_engine")
    numbers = [(value, pa.uint64()) for value in WHOLE]
    numbers += [(value, pa.decimal128(18, 2)) for value in CENTS]
    numbers += [(decimal.Decimal(value), pa.decimal128(38, 0)) for value in (-(2**63), 2**63 - 1, 10**37 + 1)]
    refused = []
    numbers = numbers if kind == "sqlite" else numbers[4::4]  # each creates and closes a file
    for place, (value, number) in enumerate(numbers):
        url = f"{kind}:///{tmp_path}/{place}.db"
        rows = pa.table({"n": pa.array([None, value], number)})
        try:
            open_sink("sql", url, {"table": "board"}).append(rows, replace=True)
        except ConfigError as error:
            assert f"SQLite would round {value} of the column 'n'" in str(error)
            refused.append(value)
        else:
            assert table_at(url)["n"].cast(number).to_pylist() == [None, value]
    beyond = [2**63, 2**63 + 5, 2**64 - 1, *CENTS[2:], 10**37 + 1]
    assert refused == (beyond if kind == "sqlite" else [])


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_names_that_are_equal_as_floats_are_separate_rows(kind, tmp_path):
    if kind == "duckdb":
        pytest.importorskip("duckdb_engine")
    url, ids = f"{kind}:///{tmp_path}/board.db", [2**53, 2**53 + 1, 2**53 + 2]
    sink = open_sink("sql", url, {"table": "board"}, key=["object"])
    for at, change in enumerate(("entered", "updated")):
        times = pa.array([at] * 3, pa.timestamp("us", "UTC"))
        log = {"object": pa.array(ids, pa.uint64()), "at": times, "change": [change] * 3, "total": [at] * 3}
        sink.write(pa.table(log), "one", at)
    log = {"object": pa.array(ids[1:2], pa.uint64()), "at": times[:1], "change": ["left"], "total": [1]}
    sink.write(pa.table(log), "one", 2)
    assert sorted(map(int, table_at(url)["object"].to_pylist())) == [ids[0], ids[2]]


def test_a_key_may_be_null_in_any_of_its_columns_and_names_one_row(tmp_path):
    """Compared with a dictionary, for any nulls, also in all columns."""
    for width in (1, 2):
        names = [f"k{place}" for place in range(width)]
        chance, expected = random.Random(width), {}
        url = f"sqlite:///{tmp_path}/{width}.db"
        for number in range(10):
            keys = {tuple(chance.choice([None, "", "a"]) for _ in names) for _ in range(3)}
            changes = {key: chance.choice(["entered", "updated", "left"]) for key in keys}
            for key, change in changes.items():
                expected.pop(key, None)
                if change != "left":
                    expected[key] = number
            log = {name: pa.array([key[place] for key in changes], pa.string()) for place, name in enumerate(names)}
            log["at"] = pa.array([number] * len(changes), pa.timestamp("us", "UTC"))
            log |= {"change": [*changes.values()], "total": [number] * len(changes)}
            open_sink("sql", url, {"table": "board"}, key=names).write(pa.table(log), "one", number)
        there = table_at(url)
        found = [(*(row[name] for name in names), row["total"]) for row in there.to_pylist()]
        assert sorted(found, key=repr) == sorted(((*key, total) for key, total in expected.items()), key=repr)


@pytest.mark.parametrize("replace", [False, True])
def test_a_batch_that_may_have_been_committed_is_not_appended_again(replace, tmp_path, monkeypatch):
    """The connection is lost between the commit and its answer: only a replacing write may be repeated."""
    url, lost = f"sqlite:///{tmp_path}/board.db", []
    run = database.Database._run

    def losing(self, work):
        done = run(self, work)
        if not lost:
            lost.append(done)
            raise sqlalchemy.exc.DBAPIError("", {}, sqlite3.OperationalError("gone"), connection_invalidated=True)
        return done

    sink = open_sink("sql", url, {"table": "board"})
    sink.append(EVERY_TYPE.slice(0, 1))
    monkeypatch.setattr(database.Database, "_run", losing)
    with nullcontext() if replace else pytest.raises(EngineError, match="check that it runs"):
        sink.append(EVERY_TYPE, replace)
    assert lost and table_at(url).num_rows == len(EVERY_TYPE) + (0 if replace else 1)


def test_more_rows_than_are_read_at_once(tmp_path, monkeypatch):
    from skyband_lakes.sql import rows

    monkeypatch.setattr(rows, "_AT_ONCE", 7)
    many = pa.table({"number": range(50)})
    open_sink("sql", f"sqlite:///{tmp_path}/board.db", {"table": "board"}).append(many)
    assert table_at(f"sqlite:///{tmp_path}/board.db").equals(many)


def test_a_column_of_an_unsupported_type_is_named(tmp_path):
    made(tmp_path / "board.db", "CREATE TABLE board (ts DATETIME, about JSON)")
    with pytest.raises(ConfigError, match="table: column 'about' is JSON, which is not supported: read a view"):
        table_at(f"sqlite:///{tmp_path}/board.db")
    made(tmp_path / "digits.db", "CREATE TABLE board (most NUMERIC(38, 3))")
    assert table_at(f"sqlite:///{tmp_path}/digits.db").schema.field("most").type == pa.decimal128(38, 3)
    made(tmp_path / "digits.db", "ALTER TABLE board ADD more NUMERIC(39, 3)")
    with pytest.raises(ConfigError, match=r"column 'more' is NUMERIC\(39, 3\), which is not supported"):
        table_at(f"sqlite:///{tmp_path}/digits.db")
    made(tmp_path / "board.db", "ALTER TABLE board RENAME TO raw; CREATE VIEW board AS SELECT ts FROM raw")
    assert table_at(f"sqlite:///{tmp_path}/board.db").num_rows == 0


def test_a_password_from_the_environment_is_shown_nowhere(call, monkeypatch):
    monkeypatch.setenv("BOARD_URL", "oracle://skyband:verysecret7@127.0.0.1:1/x")
    checked = call("check", "sink.url=${BOARD_URL}")
    assert checked.exit_code == 1 and "oracle needs" in checked.stdout and "verysecret7" not in checked.output
    monkeypatch.setenv("BOARD_URL", "sqlite:////nowhere/verysecret7/board.db")
    ran = call("run", "sink.url=${BOARD_URL}")
    assert ran.exit_code == 1 and "unable to open database file" in ran.output, ran.output
    assert "verysecret7" not in ran.output


def test_a_key_that_is_not_unique_leaves_the_table_as_it_was(call, tmp_path):
    ran = call("run", 'query.key=["total"]')
    assert ran.exit_code == 1 and "key: two rows of the answer at " in ran.stderr, ran.stderr
    assert not (tmp_path / "board.db").exists()


@pytest.mark.slow
def test_ten_kills_leave_the_newest_answer_or_what_was_there(call, tmp_path):
    command = [
        sys.executable,
        "-m",
        "skyband",
        "run",
        str(tmp_path / "job.toml"),
        "--engine",
        "local",
        "--set",
        "sink.mode=append",
    ]
    for _ in range(2):  # the first run compiles the kernels
        begun = time.monotonic()
        subprocess.run(command, check=True, capture_output=True)
    whole, chance, there = time.monotonic() - begun, random.Random(10), newest(visits())
    killed = 0
    for kill in range(30):
        if killed == 10:
            break
        if kill % 2:  # a table to change, else one to create
            made(tmp_path / "board.db", "DELETE FROM board WHERE host = 'x'; UPDATE board SET rank = 77")
        elif (tmp_path / "board.db").exists():
            (tmp_path / "board.db").unlink()
        before = board(tmp_path / "board.db") if kill % 2 else None
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                process.wait(whole * chance.uniform(0.5, 1.1))
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
            else:
                whole *= 0.8  # the machine was busier when it was measured
        try:
            assert board(tmp_path / "board.db") in (there, before)
        except sqlite3.OperationalError as error:
            assert before is None and "no such table" in str(error)
        assert call("run", "sink.mode=append").exit_code == 0
        assert board(tmp_path / "board.db") == there
    assert killed == 10


def made(path, statement):
    with closing(sqlite3.connect(path)) as database:
        database.executescript(statement)


def test_a_table_with_other_columns_is_reported_before_a_run(call, tmp_path):
    columns = "host TEXT, at TEXT, window TEXT, rank INT, object TEXT, total REAL, low REAL, high REAL"
    made(tmp_path / "board.db", f"CREATE TABLE board ({columns})")
    said = "sink.table: the table 'board' has no column 'share': it has host, at, "
    checked = call("check", "sink.mode=append")
    assert checked.exit_code == 1 and said in checked.stdout, checked.stdout
    made(tmp_path / "board.db", "ALTER TABLE board ADD share REAL; ALTER TABLE board ADD team TEXT NOT NULL DEFAULT ''")
    assert call("run", "sink.mode=append").exit_code == 0, "a further column with a default is allowed"
    assert board(tmp_path / "board.db") == newest(visits())
    made(tmp_path / "board.db", f"DROP TABLE board; CREATE TABLE board ({columns}, share REAL, team TEXT NOT NULL)")
    assert "requires a value in its column 'team'" in call("check", "sink.mode=append").stdout


def test_rows_of_other_programs_are_kept_or_replaced(call, tmp_path):
    assert call().exit_code == 0
    made(
        tmp_path / "board.db",
        "INSERT INTO board (host, window, object, rank) VALUES ('z', '1 hour', '/mine', 9);"
        " UPDATE board SET rank = 77 WHERE host = 'y'",
    )
    assert call("run", "sink.mode=append").exit_code == 0
    others = [("z", "1 hour", 9, "/mine", None)]
    assert board(tmp_path / "board.db") == sorted([*newest(visits()), *others], key=repr)


def sink_at(path, seconds=30):
    options = {"table": "board", "retry_seconds": seconds}
    return open_sink("sql", f"sqlite:///{path}?timeout=0.05", options, key=KEY)


def log_of(rows):
    return local.apply(rows, {**QUERY, "answers": "changes"})


def test_a_table_that_is_dropped_while_a_stream_runs_takes_nothing_more(tmp_path):
    """Its micro-batch numbers are in another table, which remains."""
    path = tmp_path / "board.db"
    sink = sink_at(path)
    sink.write(log_of(visits().slice(0, 4)), "one", 0)
    made(path, "DROP TABLE board")
    with pytest.raises(EngineError, match="had micro-batch 0 of this stream, and now has none of it"):
        sink.latest("one")
    assert sink_at(path).latest("one") is None, "so that a restarted run gets the error, too"
    sink_at(path).write(log_of(visits()), "one", 0)
    assert sink_at(path).latest("one") == 0 and board(path) == newest(visits())


def test_a_stream_compiles_its_statements_once(tmp_path, caplog):
    """SQLAlchemy keeps what it compiled for each table object: a new one for each write grew a service.
    A table that was created anew has its index, too.
    """
    sink = sink_at(tmp_path / "board.db")
    with caplog.at_level("INFO", "sqlalchemy.engine"):
        for number in range(4):
            if number >= 2:
                caplog.clear()
            sink.write(log_of(visits()), "one", number)
        assert "[generated in" not in caplog.text and "[cached since" in caplog.text
    made(tmp_path / "board.db", "DROP TABLE board")
    sink_at(tmp_path / "board.db").append(log_of(visits()))
    with closing(sqlite3.connect(tmp_path / "board.db")) as connection:
        indexes = connection.execute("PRAGMA index_list(board)").fetchall()
    assert [name for _, name, *_ in indexes] == ["board_key"]


def test_a_micro_batch_older_than_the_last_is_not_written_again(tmp_path):
    """A stream that resumes from an older checkpoint repeats its micro-batches, which are written once."""
    path = tmp_path / "board.db"
    for number, rows in enumerate((visits().slice(0, 4), visits().slice(4))):
        sink_at(path).write(log_of(rows), "one", number)
    there = board(path)
    for number in (0, 1):
        sink_at(path).write(log_of(visits().slice(0, 4)), "one", number)
        assert board(path) == there and sink_at(path).latest("one") == 1
    url = f"sqlite:///{tmp_path / 'all.db'}"
    for number in (0, 1, 0, 1):
        open_sink("sql", url, {"table": "board"}).write(EVERY_TYPE.slice(number, 1), "one", number)
    assert table_at(url).num_rows == 2


def test_a_lock_is_waited_for_and_reported_if_it_stays(tmp_path):
    path = tmp_path / "board.db"
    sink_at(path).append(log_of(visits().slice(0, 4)))
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        before = board(path)
        with pytest.raises(EngineError, match="database is locked: check that it runs and who holds its locks"):
            sink_at(path, seconds=0).write(log_of(visits()), "one", 0)
        assert board(path) == before
        waiting = threading.Thread(target=lambda: sink_at(path).write(log_of(visits()), "one", 0))
        waiting.start()
        time.sleep(0.2)
        assert waiting.is_alive() and board(path) == before
        other.execute("COMMIT")
        waiting.join()
    assert board(path) == newest(visits()) and sink_at(path).latest("one") == 0


def test_instants_and_floats_that_a_database_stores_differently(tmp_path):
    at = pa.array([10**15], pa.timestamp("us", "Europe/Berlin"))
    log = pa.table({"host": ["x"], "at": at, "change": ["entered"], "total": [float("nan")]})
    path = tmp_path / "board.db"
    open_sink("sql", f"sqlite:///{path}", {"table": "board"}, key=["host"]).append(log)
    assert board(path, "host, at, total") == [("x", "2001-09-09 01:46:40.000000", None)]
    nan = log.set_column(0, "host", pa.array([float("nan")]))
    with pytest.raises(ConfigError, match="NaN in the key 'host'"):
        open_sink("sql", f"sqlite:///{tmp_path}/other.db", {"table": "board"}, key=["host"]).append(nan)
    lists = log.append_column("tags", pa.array([["a"]]))
    with pytest.raises(ConfigError, match="column 'tags' to write is list"):
        open_sink("sql", f"sqlite:///{tmp_path}/other.db", {"table": "board"}, key=["host"]).append(lists)


def test_a_format_without_newest_answers_is_reported_with_those_that_do(tmp_path, monkeypatch):
    from skyband_jobs.formats import formats

    (sql,) = (one for one in formats.installed().formats.listing if one.info.name == "sql")
    adds = evolve(sql, info=evolve(sql.info, can=("writes", "streams")))
    monkeypatch.setattr(
        formats, "format_named", lambda *_: InstalledFormat(adds.info, "format sql of acme", SqlFormat())
    )
    told = "format sql of acme writes and streams only; installed formats that hold the newest answers: delta, "
    with pytest.raises(EngineError, match=told):
        open_sink("sql", f"sqlite:///{tmp_path}/board.db", {"table": "board"}, key=["host"])


@pytest.mark.parametrize(
    ("name", "kind", "column"),
    [
        ("total", pa.float64(), "INTEGER"),
        ("total", pa.string(), "DOUBLE"),
        ("object", pa.int64(), "TEXT"),
        ("at", pa.timestamp("us", "UTC"), "BLOB"),
        ("at", pa.string(), "DATETIME"),
    ],
)
def test_a_column_of_another_type_is_refused_with_both(name, kind, column, tmp_path):
    made(tmp_path / "board.db", f"CREATE TABLE board ({name} {column})")
    sink = open_sink("sql", f"sqlite:///{tmp_path}/board.db", {"table": "board"})
    with pytest.raises(ConfigError, match=rf"has '{name}' as {column}: it has .*, and the rows to write {name} "):
        sink.check(pa.schema([(name, kind)]))


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        (pa.int64(), "REAL"),
        (pa.decimal128(20), "INTEGER"),
        (pa.timestamp("us", "UTC"), "TEXT"),
        (pa.bool_(), "INT"),
        (pa.dictionary(pa.int32(), pa.string()), "VARCHAR(9)"),
        (pa.int64(), "ANYTHING"),
    ],
)
def test_a_column_of_a_compatible_type_is_accepted(kind, column, tmp_path):
    made(tmp_path / "board.db", f"CREATE TABLE board (it {column})")
    open_sink("sql", f"sqlite:///{tmp_path}/board.db", {"table": "board"}).check(pa.schema([("it", kind)]))
