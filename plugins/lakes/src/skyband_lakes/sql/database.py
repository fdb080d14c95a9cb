"""Runs transactions on a database, with retries while it is away or locked by others."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from attrs import define, field
from skyband.errors import ConfigError, EngineError, Problem

from skyband_lakes.libraries import SQL

T = TypeVar("T")

_AWAY = ("08", "40", "53", "57")
"""SQLSTATE classes worth a retry: connections, transactions rolled back (deadlocks), resources, operators."""
_NO_LOCK = "55P03"
_MYSQL = (1205, 1213, 2002, 2003, 2006, 2013)
_DUPLICATE_STATES = ("23505", "23000", "42P07")
"""SQLSTATEs for a row with this key, or a table of this name, that another client has just created."""
_TURNS = 3
"""How often a transaction is retried after such a conflict."""
_LONGEST = 2.0


@define(eq=False)
class Database:
    """The database at a URL. Each transaction has its own connection: none is stale, and files are free in between.

    patience: seconds to retry after temporary errors.
    """

    PATIENCE: ClassVar[float] = 60.0

    url: str
    patience: float = PATIENCE
    _engine: Any = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """The URL without its password."""
        return str(SQL.imported().make_url(self.url).render_as_string(hide_password=True))

    @property
    def is_there(self) -> bool:
        """False for a file that does not exist yet: connecting would create it."""
        url = SQL.imported().make_url(self.url)
        return self.kind not in ("sqlite", "duckdb") or Path(url.database or "").exists()

    @property
    def gives_arrow(self) -> bool:
        """Whether its driver returns rows as Arrow."""
        return self.kind == "duckdb"

    @property
    def has_zones(self) -> bool:
        """Whether instants can have a time zone; in SQLite, which has none, they are UTC."""
        return self.kind != "sqlite"

    @property
    def has_decimals(self) -> bool:
        """False for SQLite, which has 64-bit integers and floats."""
        return self.kind != "sqlite"

    @property
    def longest_name(self) -> int | None:
        """The most bytes of a name; None: no limit."""
        if self.kind in ("sqlite", "duckdb"):
            return None
        return int(SQL.imported().make_url(self.url).get_dialect().max_identifier_length)

    @property
    def kind(self) -> str:
        """The dialect, such as "postgresql"."""
        return str(SQL.imported().make_url(self.url).get_backend_name())

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """A connection to stream large results. Raises EngineError if the database is away."""
        with self._reason_told(), self._made_engine().connect() as connection:
            yield connection.execution_options(stream_results=True)

    def once(self, work: Callable[[Any], T]) -> T:
        """Call `work` with a connection in a transaction. Raises EngineError if the database is away."""
        with self._reason_told():
            return self._run(work)

    def until_done(self, work: Callable[[Any], T]) -> T:
        """`once`, but retry a transaction that was rolled back, or may have been.

        `work` must be idempotent: the connection may be lost after the commit and before its answer.
        """
        with self._reason_told():
            return self._again(work)

    def _again(self, work: Callable[[Any], T]) -> T:
        begun, attempts = time.monotonic(), 0
        while True:
            try:
                return self._run(work)
            except SQL.imported().exc.DBAPIError as error:
                attempts += 1
                late = time.monotonic() - begun > self.patience
                if late or not (_passes(error) or (_is_twice(error) and attempts < _TURNS)):
                    raise
            time.sleep(min(0.05 * 2**attempts, _LONGEST))

    def _run(self, work: Callable[[Any], T]) -> T:
        with self._made_engine().begin() as connection:
            return work(connection)

    def _made_engine(self) -> Any:
        if self._engine is None:
            sql = SQL.imported()
            # SQLAlchemy refuses long names that DuckDB allows, as its dialect derives from PostgreSQL's.
            limit = {"max_identifier_length": 2**16} if self.kind == "duckdb" else {}
            self._engine = sql.create_engine(self.url, poolclass=sql.pool.NullPool, **limit)
            if self._engine.dialect.name == "sqlite":
                sql.event.listen(self._engine, "connect", _no_transaction_of_the_drivers)
                sql.event.listen(self._engine, "begin", _begin)
        return self._engine

    @contextmanager
    def _reason_told(self) -> Iterator[None]:
        errors = SQL.imported().exc
        try:
            yield
        except errors.DBAPIError as error:
            reason = " ".join(str(error.orig).split())  # without the statement, which contains rows
            if _passes(error):
                message = f"the database {self.name}: {reason}"
                raise EngineError(f"{message}: check that it runs and who holds its locks, and run again") from error
            raise ConfigError(Problem("table", f"the database {self.name}: {reason}")) from error


def has_table(connection: Any, name: str) -> bool:
    """Whether a table of this name exists; the name may start with a schema and a dot."""
    home, _, own = name.rpartition(".")
    return bool(SQL.imported().inspect(connection).has_table(own, schema=home or None))


def _no_transaction_of_the_drivers(connection: Any, _: Any) -> None:
    """Disable sqlite3's own transactions: it starts none before CREATE TABLE, which then is not rolled back."""
    connection.isolation_level = None


def _begin(connection: Any) -> None:
    """Take the write lock at once: a read lock cannot always be upgraded."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _passes(error: Any) -> bool:
    """Whether a retry may succeed: the database is away, or others hold a lock."""
    cause, state = error.orig, _state(error)
    if error.connection_invalidated or state[:2] in _AWAY or state == _NO_LOCK:
        return True
    if str(getattr(cause, "sqlite_errorname", "")).startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return True
    if "Could not set lock" in str(cause):  # DuckDB, while another process has the file open
        return True
    number = cause.args[0] if getattr(cause, "args", ()) else None
    refused = not state and isinstance(error, SQL.imported().exc.OperationalError)
    of_sqlite = hasattr(cause, "sqlite_errorname")
    return number in _MYSQL or (refused and not of_sqlite and not isinstance(number, int))


def _is_twice(error: Any) -> bool:
    """Whether another client has just created a row with this key, or the table."""
    unique = str(getattr(error.orig, "sqlite_errorname", "")).startswith("SQLITE_CONSTRAINT_UNIQUE")
    return unique or _state(error) in _DUPLICATE_STATES


def _state(error: Any) -> str:
    return str(getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None) or "")
