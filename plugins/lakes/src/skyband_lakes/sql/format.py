"""The job format `sql`: database tables to read, to append to, or of the newest answers, with SQLAlchemy."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skyband.errors import Problem
from skyband_jobs.formats import TableKeys

from skyband_lakes.libraries import SQL
from skyband_lakes.limits import name_problem
from skyband_lakes.server_format import ServerFormat
from skyband_lakes.sql.database import Database
from skyband_lakes.sql.rows import SqlRows
from skyband_lakes.sql.sink import SqlSink

_FILES = ("sqlite", "duckdb")
"""Databases in a local file."""
_DRIVERS = {"psycopg": "'psycopg[binary]'", "duckdb": "duckdb-engine", "MySQLdb": "mysqlclient"}
"""The package to install for a module, if its name differs."""


class SqlFormat(ServerFormat):
    """A table may be in a schema; a lock is waited for like a database that is away."""

    name = "sql"
    what = "database"

    def check(self, keys: TableKeys, on_spark: bool) -> list[Problem]:
        if on_spark and not keys.writes:
            return [Problem("format", "sql is for --engine local; on Spark, read databases with its format jdbc")]
        problems = self._key_problems(keys)
        if not keys.table:
            problems.append(Problem("table", "is required for sql: its name, such as board"))
        if keys.url is None:
            problems.append(Problem("url", "is required for sql, such as ${BOARD_URL} or sqlite:///board.db"))
        if keys.schema is not None:
            problems.append(Problem("schema", "a table in sql has its own schema: remove it"))
        lacking = SQL.missing()
        if lacking is not None:
            return [*problems, Problem("format", f"sql {lacking}")]
        if keys.url is None:
            return problems
        return [*problems, *(_url_problems(keys.url) or self._name_problems(keys))]

    def read(self, keys: TableKeys) -> SqlRows:
        return SqlRows(self._database(keys), keys.table or "")

    def write(self, keys: TableKeys) -> SqlSink:
        return SqlSink(self._database(keys), keys.table or "", keys.key)

    def _database(self, keys: TableKeys) -> Database:
        return Database(keys.url or "", self._patience(keys, Database.PATIENCE))

    def _name_problems(self, keys: TableKeys) -> list[Problem]:
        longest = Database(keys.url or "").longest_name
        wrong = (name_problem(name, longest) for name in (keys.table or "").rpartition(".")[::2] if name)
        return [Problem("table", problem) for problem in wrong if problem]

    def absolute(self, catalog: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        if "url" not in catalog or SQL.missing() is not None:
            return catalog
        sql = SQL.imported()
        try:
            url = sql.make_url(catalog["url"])
        except sql.exc.ArgumentError:  # reported when the keys are checked
            return catalog
        if url.get_backend_name() not in _FILES or url.database in (None, "", ":memory:"):
            return catalog
        placed = url.set(database=str(folder.absolute() / url.database))
        return {**catalog, "url": placed.render_as_string(hide_password=False)}


def _url_problems(text: str) -> list[Problem]:
    """Problems with the URL of a database, without connecting to it."""
    sql = SQL.imported()
    try:
        url = sql.make_url(text)
    except (sql.exc.ArgumentError, ValueError):  # the port is not a number
        return [Problem("url", "must be a SQLAlchemy URL, such as postgresql://user:password@host:5432/database")]
    try:
        url.get_dialect().import_dbapi()
    except sql.exc.NoSuchModuleError:
        name = url.get_backend_name()
        missing = _DRIVERS.get(name, f"a dialect for {name}")
        return [Problem("url", f"SQLAlchemy has no dialect {name!r}: pip install {missing}")]
    except ImportError as error:
        driver = error.name or "its driver"
        return [Problem("url", f"{url.drivername} needs {driver}: pip install {_DRIVERS.get(driver, driver)}")]
    if url.get_backend_name() in _FILES and url.database in (None, "", ":memory:"):
        return [Problem("url", "a database in memory is lost after the run: name a file, as in sqlite:///board.db")]
    return []
