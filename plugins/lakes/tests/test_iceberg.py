"""Iceberg tables: catalogues, tables and columns, and the errors of wrong ones."""

import socket
import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.errors import ConfigError, EngineError
from skyband_jobs.formats import open_sink, open_table
from skyband_lakes.iceberg import tables

pytest.importorskip("pyiceberg", reason="needs the extra iceberg")

ANSWERS = pa.table(
    {"place": ["a", "b", None], "at": pa.array([1, 2, 2], pa.timestamp("s", "UTC")), "tags": [["x"], [], None]}
)
JOB = """
[source]
format = "parquet"
path = "visits.parquet"

[query]
kind = "distinct-count"
time = "ts"
item = "who"
windows = ["1 minute"]
every = "1 minute"

[sink]
format = "iceberg"
table = "db.counts"
catalog = { uri = "sqlite:///lake.db", warehouse = "lake/" }
"""


@pytest.fixture
def lake(tmp_path):
    return {"uri": f"sqlite:///{tmp_path}/lake.db", "warehouse": str(tmp_path / "lake")}


@pytest.fixture
def catalog(lake):
    """The catalogue as another program opens it."""
    from pyiceberg.catalog import load_catalog

    with load_catalog("default", **lake) as catalog:
        catalog.create_namespace_if_not_exists("db")
        yield catalog


def rows(lake, name="db.counts"):
    table = open_table("iceberg", name, lake)
    return pa.Table.from_batches(table.batches(table.schema.names), table.schema).to_pylist()


@pytest.fixture
def check(tmp_path):
    seconds = pa.array([5, 20, 65, 130], pa.timestamp("s", "UTC"))
    pq.write_table(pa.table({"ts": seconds, "who": ["ann", "bob", "ann", "cho"]}), tmp_path / "visits.parquet")

    def call(*sets, engine="local", job=JOB, command="check"):
        (tmp_path / "job.toml").write_text(job)
        changes = [part for change in sets for part in ("--set", change)]
        return CliRunner().invoke(group, [command, str(tmp_path / "job.toml"), "--engine", engine, *changes])

    return call


def test_the_number_of_a_micro_batch_outlives_its_snapshot(lake, catalog):
    sink = open_sink("iceberg", "db.counts", lake)
    sink.write(ANSWERS, "one", 0)
    sink.write(ANSWERS, "one", 1)
    sink.write(ANSWERS, "two", 0)
    table = catalog.load_table("db.counts")
    older = [one.snapshot_id for one in table.metadata.snapshots][:2]
    table.maintenance.expire_snapshots().by_ids(older).commit()
    assert (sink.latest("one"), sink.latest("two"), sink.latest("three")) == (1, 0, None)


def test_a_stream_that_is_new_to_an_old_table_has_no_number(lake, catalog):
    open_sink("iceberg", "db.counts", lake).append(ANSWERS)
    table = catalog.load_table("db.counts")
    table.append(ANSWERS)
    table.maintenance.expire_snapshots().by_id(table.metadata.snapshots[0].snapshot_id).commit()
    assert open_sink("iceberg", "db.counts", lake).latest("one") is None


def test_a_table_that_was_rolled_back_has_its_earlier_number(lake, catalog):
    sink = open_sink("iceberg", "db.counts", lake)
    for batch in range(3):
        sink.write(ANSWERS, "one", batch)
    sink.write(ANSWERS, "two", 0)
    table = catalog.load_table("db.counts")
    second = table.metadata.snapshots[1].snapshot_id
    with table.manage_snapshots() as changes:
        changes.rollback_to_snapshot(second)
    with pytest.raises(EngineError, match="had micro-batch 2 of this stream, and now is at 1"):
        sink.latest("one")
    again = open_sink("iceberg", "db.counts", lake)
    assert again.latest("one") == 1 and len(rows(lake)) == 6
    assert again.latest("two") is None, "later micro-batches are gone"
    with catalog.load_table("db.counts").manage_snapshots() as changes:
        changes.rollback_to_snapshot(table.metadata.snapshots[0].snapshot_id)
    assert open_sink("iceberg", "db.counts", lake).latest("one") == 0


def test_commits_of_others_between_two_of_a_stream_are_kept(lake, catalog):
    sink = open_sink("iceberg", "db.counts", lake)
    sink.write(ANSWERS.slice(0, 1), "one", 0)
    catalog.load_table("db.counts").append(ANSWERS.slice(1, 1))
    sink.write(ANSWERS.slice(2, 1), "one", 1)
    assert rows(lake) == ANSWERS.to_pylist() and sink.latest("one") == 1


LOG = pa.table({"place": ["a", "b"], "at": ANSWERS["at"][:2], "change": ["entered", "entered"], "rank": [1, 2]})


@pytest.mark.parametrize("times", [1, 5])
def test_rows_that_others_add_while_a_table_is_rewritten_are_kept(times, lake, monkeypatch):
    """It is rewritten again; if others always commit first, the commit fails and the table stays unchanged."""
    sink = open_sink("iceberg", "db.board", lake, key=["place"])
    sink.write(LOG, "one", 0)
    with_others, mine, left = tables._with_others, LOG.drop_columns("change").slice(0, 1), times

    def meanwhile(*arguments):
        nonlocal left
        made, left = with_others(*arguments), left - 1
        if left >= 0:
            open_sink("iceberg", "db.board", lake).append(mine.set_column(0, "place", pa.array([f"z{left}"])))
        return made

    def board():
        return sorted((row["place"], row["rank"]) for row in rows(lake, "db.board"))

    monkeypatch.setattr(tables, "_with_others", meanwhile)
    others, swapped = [(f"z{one}", 1) for one in range(times)], LOG.set_column(3, "rank", pa.array([2, 1]))
    if times == 5:
        with pytest.raises(ConfigError, match="the Iceberg table: "):
            sink.write(swapped, "one", 1)
        assert board() == [("a", 1), ("b", 2), *others] and sink.latest("one") == 0
    sink.write(swapped, "one", 1)
    assert board() == [("a", 2), ("b", 1), *others] and sink.latest("one") == 1


def test_an_existing_empty_table_is_used(lake, catalog):
    from pyiceberg.transforms import IdentityTransform

    table = catalog.create_table("db.counts", ANSWERS.select(["at", "place", "tags"]).schema)
    with table.update_spec() as spec:
        spec.add_field("place", IdentityTransform())
    sink = open_sink("iceberg", "db.counts", lake)
    assert not sink.exists()
    sink.append(ANSWERS)
    assert sorted(map(str, rows(lake))) == sorted(map(str, ANSWERS.select(["at", "place", "tags"]).to_pylist()))
    assert sink.exists()


def test_writing_and_reading_need_no_network(lake, monkeypatch):
    def refuse(*given):
        raise AssertionError(f"a connection to {given}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    open_sink("iceberg", "db.counts", lake).append(ANSWERS)
    assert rows(lake) == ANSWERS.to_pylist()


def test_a_column_that_iceberg_has_no_type_for_is_named(lake):
    sink = open_sink("iceberg", "db.counts", lake)
    with pytest.raises(
        ConfigError, match=r"format: an Iceberg table cannot hold .* 'x' .*duration.*use another format"
    ):
        sink.append(pa.table({"x": pa.array([1], pa.duration("s"))}))
    assert not sink.exists()


def test_required_columns_accept_answers_that_always_have_one(lake, catalog):
    at = pa.field("at", pa.timestamp("us", "UTC"), nullable=False)
    catalog.create_table("db.counts", pa.schema([at, pa.field("place", pa.string())]))
    answers = ANSWERS.select(["at", "place"]).cast(pa.schema([at.with_nullable(True), ("place", pa.string())]))
    sink = open_sink("iceberg", "db.counts", lake)
    with pytest.raises(ConfigError, match=r"has at required timestamptz, place string, and the rows to write at "):
        sink.check(answers.schema)
    sink.append(answers.cast(pa.schema([at, ("place", pa.string())])))
    assert [row["place"] for row in rows(lake)] == ["a", "b", None]


def test_a_table_that_is_more_than_its_files_is_not_left_to_sparks_own_reader(lake, catalog):
    sink = open_sink("iceberg", "db.counts", lake)
    sink.append(ANSWERS)
    assert len(open_table("iceberg", "db.counts", lake).plain_files()) == 1
    with catalog.load_table("db.counts").update_schema() as columns:
        columns.rename_column("place", "town")
    assert [row["town"] for row in rows(lake)] == ["a", "b", None]
    with pytest.raises(ConfigError, match="had other columns before, which Spark's file reader ignores: let"):
        open_table("iceberg", "db.counts", lake).plain_files()


def test_the_error_of_a_missing_table_or_catalogue_names_existing_ones(lake, tmp_path):
    open_sink("iceberg", "db.counts", lake).append(ANSWERS)
    for name, catalog, said in (
        ("db.count", lake, r"table: there is no Iceberg table 'db.count' .*; did you mean 'db.counts'\?"),
        ("db.counts", lake | {"name": "other"}, "'other', which is empty: check catalog.name"),
        ("db.counts", {"uri": f"sqlite:///{tmp_path}/no.db"}, r"catalog.uri: no such file \(sqlite.*no.db\)"),
        ("db.counts", {"uri": "gopher://lake"}, "catalog: the Iceberg catalog: .*gopher"),
        (
            "db.counts",
            {"name": "nobody-knows-it"},
            "catalog.name: pyiceberg's configuration has no catalogue 'nobody-knows-it': add",
        ),
        ("db.counts", {}, "catalog.uri: is required"),
        ("counts", lake, "table: the Iceberg table: Empty namespace"),
    ):
        with pytest.raises(ConfigError, match=said):
            open_table("iceberg", name, catalog)
    assert not (tmp_path / "no.db").exists(), "reading makes no catalogue"


def test_a_file_that_is_not_a_catalogue_is_refused(lake, tmp_path):
    (tmp_path / "lake.db").write_text("This is a text, and longer than the head of a database is. " * 3)
    for act in (open_sink("iceberg", "db.counts", lake).exists, lambda: open_table("iceberg", "db.counts", lake)):
        with pytest.raises(ConfigError, match=r"catalog: the Iceberg catalog: .*file is not a database"):
            act()


def test_a_catalogue_that_another_program_keeps_locked_fails_the_write(lake, tmp_path):
    sink = open_sink("iceberg", "db.counts", lake)
    sink.append(ANSWERS)
    with sqlite3.connect(tmp_path / "lake.db") as other:
        other.execute("BEGIN EXCLUSIVE")
        quick = open_sink("iceberg", "db.counts", lake | {"uri": lake["uri"] + "?timeout=0.1"})
        with pytest.raises(ConfigError, match=r"the Iceberg catalog: .*database is locked"):
            quick.write(ANSWERS, "one", 0)
    other.close()
    assert len(rows(lake)) == 3


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("sink.table=counts", "sink.table: must be a name in a namespace, such as db.answers (got 'counts')"),
        (
            "sink.path=counts/",
            "sink.path: is for Spark's connector, while table and catalog are for pyiceberg: drop path, or these",
        ),
        ("sink.catalog.uri=sqlite://", "sink.catalog.uri: must be a file"),
        ("sink.catalog.uri=sqlite:///:memory:", "sink.catalog.uri: must be a file"),
        ("sink.catalog={}", "sink.catalog: is required for iceberg, such as"),
        ('sink.catalog={uri = "sqlite:///lake.db"}', "sink.catalog.warehouse: is required"),
        ('sink.catalog={warehouse = "lake/"}', "sink.catalog.uri: is required"),
        ("sink.catalog=lake.db", "sink.catalog: must be a table"),
        ("sink.options.uri=x", "sink.options: have no effect with catalog"),
        ("sink.format=delta", "sink.table: is only for formats with a catalogue: remove it (got format 'delta')"),
        ("source.table=db.visits", "source.table: is only for formats with a catalogue: remove it (got format 'parq"),
        ("sink.catalog.warehouse=visits.parquet", "sink.catalog.warehouse: "),
    ],
)
def test_check_reports_keys_that_do_not_fit(check, setting, said):
    called = check(setting)
    assert called.exit_code == 1 and said in called.stdout, called.stdout


def test_on_spark_a_path_is_for_the_connector(check):
    pytest.importorskip("skyband_spark", reason="its engine comes with skyband-spark")
    by_path = JOB.replace('table = "db.counts"', 'path = "db.counts"').replace("catalog =", "# catalog =")
    assert check(engine="spark").exit_code == 0
    assert check(engine="spark", job=by_path).exit_code == 0
    assert "sink.table: is required for iceberg" in check(job=by_path).stdout
    both = check("sink.path=counts", engine="spark").stdout
    assert "sink.path: is for Spark's connector, while table and catalog are for pyiceberg" in both


def test_paths_of_the_catalogue_are_next_to_the_job_and_the_answers_are_drawn(check, tmp_path, lake, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    ran = check(command="run")
    assert ran.exit_code == 0 and "in db.counts" in ran.stderr, ran.stderr
    assert [row["count"] for row in rows(lake)] == [2.0, 1.0, 1.0]
    assert (tmp_path / "lake" / "db" / "counts").is_dir() and not list(elsewhere.iterdir())


def test_the_sink_is_not_the_source(check, lake):
    assert check(command="run").exit_code == 0
    keys = 'format = "iceberg"\ntable = "db.counts"\ncatalog = { uri = "sqlite:///lake.db", warehouse = "lake/" }'
    twice = JOB.replace('format = "parquet"\npath = "visits.parquet"', keys)
    twice = twice.replace('"ts"', '"at"').replace('"who"', '"count"')
    assert "sink.table: 'db.counts' is the source: choose another table" in check(job=twice).stdout
    assert check("sink.table=db.again", job=twice, command="run").exit_code == 0
    assert len(rows(lake, "db.again")) > 0
