"""A database that transactions are run on: again where it was away, or where others held a lock."""

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
"""Classes of SQLSTATE that pass: connections, transactions rolled back (deadlocks), resources, operators."""
_NO_LOCK = "55P03"
_MYSQL = (1205, 1213, 2002, 2003, 2006, 2013)
_TWICE = ("23505", "23000", "42P07")
"""A row with this key, or a table of this name, is there already: someone else came first."""
_TURNS = 3
"""How often what someone else has just written is met before it is an error."""
_LONGEST = 2.0


@define(eq=False)
class Database:
    """What is at a URL. Each transaction has a connection of its own: none is stale, and files are free between them.

    patience: seconds for which what passes is waited for.
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
        """False of a file that nobody has made yet: to connect would make it."""
        url = SQL.imported().make_url(self.url)
        return self.kind not in ("sqlite", "duckdb") or Path(url.database or "").exists()

    @property
    def gives_arrow(self) -> bool:
        """Whether its driver has rows as Arrow."""
        return self.kind == "duckdb"

    @property
    def has_zones(self) -> bool:
        """Whether instants may have one; in SQLite, which has none, they are UTC."""
        return self.kind != "sqlite"

    @property
    def has_decimals(self) -> bool:
        """SQLite has whole numbers of 64 bits, and floats."""
        return self.kind != "sqlite"

    @property
    def longest_name(self) -> int | None:
        """Bytes that a name may have; None: any number."""
        if self.kind in ("sqlite", "duckdb"):
            return None
        return int(SQL.imported().make_url(self.url).get_dialect().max_identifier_length)

    @property
    def kind(self) -> str:
        """Such as "postgresql"."""
        return str(SQL.imported().make_url(self.url).get_backend_name())

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """A connection to read much by, as it comes. Raises EngineError where the database is away."""
        with self._reason_told(), self._made_engine().connect() as connection:
            yield connection.execution_options(stream_results=True)

    def once(self, work: Callable[[Any], T]) -> T:
        """What `work` gives for a connection in a transaction. Raises EngineError where the database is away."""
        with self._reason_told():
            return self._run(work)

    def until_done(self, work: Callable[[Any], T]) -> T:
        """As `once`, in a transaction that is tried again where the last was rolled back, or may have been.

        `work` does nothing twice: the connection may be lost after the commit and before its answer.
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
            # SQLAlchemy refuses long names that DuckDB takes: it has its dialect from PostgreSQL's.
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
            reason = " ".join(str(error.orig).split())  # without the statement, whose values are rows
            if _passes(error):
                message = f"the database {self.name}: {reason}"
                raise EngineError(f"{message}: look whether it runs and who holds its locks, and run again") from error
            raise ConfigError(Problem("table", f"the database {self.name}: {reason}")) from error


def has_table(connection: Any, name: str) -> bool:
    """Whether there is a table of this name, after that of its schema and a dot where it has one."""
    home, _, own = name.rpartition(".")
    return bool(SQL.imported().inspect(connection).has_table(own, schema=home or None))


def _no_transaction_of_the_drivers(connection: Any, _: Any) -> None:
    """sqlite3 begins none before a table is made, so that it would not be rolled back."""
    connection.isolation_level = None


def _begin(connection: Any) -> None:
    """Takes the lock at once: one that is taken for reading first may not become one for writing."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _passes(error: Any) -> bool:
    """Whether the same may succeed later: the database is away, or others hold what it needs."""
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
    """Whether a row with this key, or the table, came in from someone else meanwhile."""
    unique = str(getattr(error.orig, "sqlite_errorname", "")).startswith("SQLITE_CONSTRAINT_UNIQUE")
    return unique or _state(error) in _TWICE


def _state(error: Any) -> str:
    return str(getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None) or "")
