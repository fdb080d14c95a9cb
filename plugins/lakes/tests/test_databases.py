"""DuckDB, and a PostgreSQL that really runs: it goes away and comes back, and others lock what a stream wants."""

import threading
import time
from tempfile import TemporaryDirectory

import pytest
from postgres_server import PASSWORD, Postgres, lacking
from skyband.errors import ConfigError, EngineError
from skyband.tables import open_sink
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
    with TemporaryDirectory(prefix="postgres-") as folder:  # of pytest's own its user may see nothing
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
    with pytest.raises(EngineError, match="look whether it runs and who holds its locks") as told:
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
def test_a_deadlock_is_tried_again(postgres):
    """The other holds what this one takes second, and wants what it has taken first."""
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
def test_a_wrong_password_is_told_without_it(postgres):
    url = postgres.url.replace(PASSWORD, "not-the-secret")
    with pytest.raises(EngineError, match="password authentication failed") as told:
        open_sink("sql", url, {"table": "board"}, key=KEY).exists()
    assert "not-the-secret" not in str(told.value)


@pytest.mark.slow
def test_a_table_whose_columns_are_of_other_types_is_told(postgres):
    with sqlalchemy.create_engine(postgres.url, poolclass=sqlalchemy.pool.NullPool).begin() as connection:
        types = "place INTEGER, at TIMESTAMPTZ, rank BIGINT, count FLOAT, state BYTEA"
        connection.execute(sqlalchemy.text(f"CREATE TABLE typed ({types})"))
    with pytest.raises(ConfigError, match=r"table: the database postgresql.*: .*integer"):
        sink(postgres, "typed").write(log(0), "one", 0)
    assert sink(postgres, "typed").latest("one") is None


@pytest.mark.slow
def test_a_user_without_rights_is_told_and_changes_nothing(postgres):
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
