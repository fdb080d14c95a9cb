"""DuckDB, and a running PostgreSQL that goes away and comes back, and whose rows others lock."""

import random
import re
import threading
import time
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from postgres_server import PASSWORD, Postgres, lacking
from skyband.errors import ConfigError, EngineError
from skyband_expressions.expression import parse_condition
from skyband_jobs.formats import open_sink
from skyband_specs.formats import CHECKS, FormatSubject, verify_format_subject

sqlalchemy = pytest.importorskip("sqlalchemy")
from database_trial import DatabaseTrial  # noqa: E402 - which needs sqlalchemy

KEY = ["place", "rank"]
CAN = ("writes", "streams", "current")


def check(one, monkeypatch, url):
    monkeypatch.setenv("TRIAL_URL", url)
    place = f"{DatabaseTrial.__module__}:{DatabaseTrial.__qualname__}"
    subject = FormatSubject("format/sql", "skyband_lakes.sql.format:SqlFormat", place, CAN)
    report = verify_format_subject(subject, checks=[one])
    assert report.ok and report.counts()["passed"], report.text()


@pytest.mark.parametrize("one", [one for one in CHECKS if one.group == "current"], ids=lambda one: one.name)
def test_duckdb_holds_the_newest_answers(one, tmp_path, monkeypatch):
    pytest.importorskip("duckdb_engine")
    check(one, monkeypatch, f"duckdb:///{tmp_path}/board.duckdb")


@pytest.fixture(scope="module")
def postgres():
    if lacking() is not None:
        pytest.skip(lacking())
    with TemporaryDirectory(prefix="postgres-") as folder:  # its user cannot read pytest's own
        server = Postgres(folder)
        server.start()
        yield server
        server.stop()


@pytest.mark.slow
@pytest.mark.parametrize("one", [one for one in CHECKS if "reads" not in one.needs], ids=lambda one: one.name)
def test_postgresql(one, postgres, monkeypatch):
    check(one, monkeypatch, postgres.url)


def log(batch):
    return DatabaseTrial().log(batch)


def sink(server, table, **options):
    return open_sink("sql", server.url, {"table": table, **options}, key=KEY)


def rows(server, table):
    with sqlalchemy.create_engine(server.url, poolclass=sqlalchemy.pool.NullPool).connect() as connection:
        return sorted(
            connection.execute(sqlalchemy.text(f"SELECT place, rank, count FROM {table}")).fetchall(), key=repr
        )


@pytest.mark.slow
def test_a_database_that_goes_away_and_comes_back_is_waited_for(postgres):
    sink(postgres, "away").write(log(0), "one", 0)
    sink(postgres, "whole").write(log(0), "one", 0)
    postgres.stop()
    with pytest.raises(EngineError, match="check that it runs and who holds its locks") as told:
        sink(postgres, "away", retry_seconds=0).write(log(1), "one", 1)
    assert PASSWORD not in str(told.value) and "***" in str(told.value)
    waiting = threading.Thread(target=lambda: sink(postgres, "away").write(log(1), "one", 1))
    waiting.start()
    time.sleep(0.3)
    assert waiting.is_alive()
    postgres.start()
    waiting.join()
    sink(postgres, "whole").write(log(1), "one", 1)
    assert sink(postgres, "away").latest("one") == 1
    assert rows(postgres, "away") == rows(postgres, "whole") != []


@pytest.mark.slow
def test_a_deadlock_is_retried(postgres):
    """The other transaction takes the same locks in reverse order."""
    sink(postgres, "deadlock").write(log(0), "one", 0)
    sink(postgres, "numbered").write(log(0), "one", 0)
    engine = sqlalchemy.create_engine(postgres.url)
    with engine.connect() as other:
        numbers = "skyband_micro_batches"
        other.execute(sqlalchemy.text(f"SELECT * FROM {numbers} WHERE answers = 'deadlock' FOR UPDATE"))
        waiting = threading.Thread(target=lambda: sink(postgres, "deadlock").write(log(3), "one", 1))
        waiting.start()
        blocked = sqlalchemy.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        while not other.execute(blocked).scalar():
            time.sleep(0.01)
        try:
            other.execute(sqlalchemy.text("UPDATE deadlock SET rank = rank"))
            other.commit()
        except sqlalchemy.exc.OperationalError as error:  # one of the two is rolled back, and PostgreSQL says which
            assert "deadlock detected" in str(error)
            other.rollback()
    waiting.join()
    engine.dispose()
    sink(postgres, "numbered").write(log(3), "one", 1)
    assert sink(postgres, "deadlock").latest("one") == 1
    assert rows(postgres, "deadlock") == rows(postgres, "numbered")


@pytest.mark.slow
def test_a_wrong_password_is_reported_without_it(postgres):
    url = postgres.url.replace(PASSWORD, "not-the-secret")
    with pytest.raises(EngineError, match="password authentication failed") as told:
        open_sink("sql", url, {"table": "board"}, key=KEY).exists()
    assert "not-the-secret" not in str(told.value)


@pytest.mark.slow
def test_a_table_with_other_column_types_is_reported(postgres):
    with sqlalchemy.create_engine(postgres.url, poolclass=sqlalchemy.pool.NullPool).begin() as connection:
        types = "place INTEGER, at TIMESTAMPTZ, rank BIGINT, count FLOAT, state BYTEA"
        connection.execute(sqlalchemy.text(f"CREATE TABLE typed ({types})"))
    with pytest.raises(ConfigError, match=r"table: the table 'typed' has 'place' as INTEGER: it has "):
        sink(postgres, "typed").write(log(0), "one", 0)
    assert sink(postgres, "typed").latest("one") is None


@pytest.mark.slow
def test_a_user_without_rights_gets_an_error_and_changes_nothing(postgres):
    sink(postgres, "guarded").write(log(0), "one", 0)
    before = rows(postgres, "guarded")
    with sqlalchemy.create_engine(postgres.url, poolclass=sqlalchemy.pool.NullPool).begin() as connection:
        connection.execute(sqlalchemy.text(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'"))
        connection.execute(sqlalchemy.text("GRANT SELECT ON guarded, skyband_micro_batches TO guest"))
    guest = sqlalchemy.make_url(postgres.url).set(username="guest").render_as_string(hide_password=False)
    for table, told in (("guarded", "permission denied for table guarded"), ("new", "permission denied for schema")):
        with pytest.raises(ConfigError, match=rf"table: the database .*guest:\*\*\*.*{told}") as caught:
            open_sink("sql", guest, {"table": table}, key=KEY).write(log(1), "one", 1)
        assert PASSWORD not in str(caught.value)
    assert rows(postgres, "guarded") == before and sink(postgres, "guarded").latest("one") == 0


def changes(pages, change="entered", **columns):
    """A log of answers by `page`, one per moment."""
    at = pa.array(range(len(pages)), pa.timestamp("us", "UTC"))
    told = pa.array([change] * len(pages), pa.string())
    return pa.table({"change": told, "at": at, "page": pa.array(pages, pa.string()), **columns})


def by_page(server, table, key=("page",)):
    return open_sink("sql", server.url, {"table": table}, key=key)


def pages_in(server, table):
    with sqlalchemy.create_engine(server.url, poolclass=sqlalchemy.pool.NullPool).connect() as connection:
        return sorted(page for (page,) in connection.execute(sqlalchemy.text(f"SELECT page FROM {table}")))


def index_of(server, table):
    query = f"SELECT indexdef FROM pg_indexes WHERE tablename = '{table}'"
    with sqlalchemy.create_engine(server.url, poolclass=sqlalchemy.pool.NullPool).connect() as connection:
        return [definition for (definition,) in connection.execute(sqlalchemy.text(query))]


@pytest.mark.parametrize("key", [(), ("page",)])
def test_a_text_with_a_nul_character_names_its_column_value_and_remedy(postgres, key):
    """It is checked first: nothing of the micro-batch is written, and the rest without the row can be."""
    sink, table = by_page(postgres, f"nul{len(key)}", key), f"nul{len(key)}"
    sink.write(changes(["a"]), "one", 0)
    with pytest.raises(ConfigError) as told:
        sink.write(changes(["b", "c\0d"]), "one", 1)
    assert "(column 'page', value 'c\\x00d')" in str(told.value)
    where = re.search(r"source.where = '''(.*?)'''", str(told.value))[1]
    rows = pa.record_batch({"page": ["b", "c\0d", None]})
    assert parse_condition(where).evaluate(rows).to_pylist() == [True, False, True], (
        "only the row with the character goes"
    )
    assert pages_in(postgres, table) == ["a"] and sink.latest("one") == 0
    sink.write(changes(["b"]), "one", 1)
    assert pages_in(postgres, table) == ["a", "b"]


def test_keys_of_any_length_are_held(postgres):
    """Short keys are indexed themselves; from the first long one on, hashes are."""
    draw = random.Random(7)
    sink, held = by_page(postgres, "lengths"), set()
    for batch, longest in enumerate([10, 500, 20_000, 20_000, 10]):
        pages = {"".join(draw.choices("abcdefgh", k=draw.randrange(longest))) for _ in range(30)}
        gone = set(draw.sample(sorted(held), len(held) // 2))
        log = pa.concat_tables([changes(sorted(gone), "left"), changes(sorted(pages - gone))])
        sink.write(log, "one", batch)
        held = (held - gone) | (pages - gone)
        assert pages_in(postgres, "lengths") == sorted(held)
        assert ["md5" in index for index in index_of(postgres, "lengths")] == [batch >= 2]


@pytest.mark.parametrize("name", ["t" * 64, "ä" * 32, "x" * 64 + ".board", "a\0b"])
def test_a_name_that_the_database_would_cut_is_reported_with_its_key(postgres, name):
    with pytest.raises(ConfigError, match=r"^table: .*(bytes, more than the 63 that a name may have|cannot be a name)"):
        by_page(postgres, name)


@pytest.mark.parametrize("name", ["t" * 63, "ä" * 31])
def test_a_name_of_the_maximal_length_is_accepted(postgres, name):
    for batch, page in enumerate("ab"):
        by_page(postgres, name).write(changes([page]), "one", batch)
    assert pages_in(postgres, f'"{name}"') == ["a", "b"]
    assert len(index_of(postgres, name)) == 1


def test_a_column_whose_name_the_database_would_cut_is_reported(postgres):
    with pytest.raises(ConfigError, match=r"column 'c+' has 64 bytes, more than the 63 that a name may have"):
        by_page(postgres, "columns").append(changes(["a"], **{"c" * 64: [1]}))
    assert not by_page(postgres, "columns").exists()


@pytest.mark.parametrize("kind", ["postgresql", "sqlite", "duckdb"])
@pytest.mark.parametrize("micros", [-62_135_596_800_000_001, 253_402_300_800_000_000])
def test_the_error_of_a_time_that_no_driver_supports_names_its_column(kind, micros, tmp_path, request):
    if kind == "duckdb":
        pytest.importorskip("duckdb_engine")
    url = request.getfixturevalue("postgres").url if kind == "postgresql" else f"{kind}:///{tmp_path}/board.db"
    sink = open_sink("sql", url, {"table": f"years{micros % 10}"}, key=["page"])
    late = pa.array([micros], pa.timestamp("us", "UTC"))
    with pytest.raises(ConfigError, match=r"years 1 to 9999 \(column 'seen', value [+-]?\d+-"):
        sink.append(changes(["a"], seen=late))
    inside = pa.array([micros + (1 if micros < 0 else -1)], pa.timestamp("us", "UTC"))
    sink.append(changes(["a"], seen=inside))


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_columns_that_differ_only_in_case_are_refused_if_they_are_one(kind, tmp_path):
    if kind == "duckdb":
        pytest.importorskip("duckdb_engine")
    sink = open_sink("sql", f"{kind}:///{tmp_path}/board.db", {"table": "board"}, key=["page"])
    with pytest.raises(ConfigError, match=f"the columns 'page' and 'Page' are one name in {kind}: rename one"):
        sink.append(changes(["a"], Page=["b"]))
