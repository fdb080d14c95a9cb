"""Reads and writes Delta Lake tables with the library deltalake, without Spark's connector."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import define, field
from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import BatchSink, NetChanges, TableRows

from skyband_lakes.delta.parts import DeltaPart, parts_of
from skyband_lakes.libraries import DELTA
from skyband_lakes.limits import check_columns
from skyband_lakes.utc import changes_in_utc, in_utc, schema_in_utc

if TYPE_CHECKING:
    import pyarrow as pa


_GONE = "skyband_gone"


def merge(table: Any, changes: NetChanges, commit: Any) -> None:
    """Delete the rows that are gone, and insert or replace the others by key.

    commit: the commit properties.
    """
    merger = table.merge(
        _source(changes),
        predicate=" AND ".join(_same(name) for name in changes.key),
        source_alias="new", target_alias="old",
        commit_properties=commit,
    )  # fmt: skip
    columns = {name: f"new.{_quoted(name)}" for name in changes.rows.column_names}
    stays = f"NOT new.{_GONE}"
    merger.when_matched_delete(predicate=f"new.{_GONE}").when_matched_update(
        {_quoted(name): value for name, value in columns.items()}, predicate=stays
    ).when_not_matched_insert({_quoted(name): value for name, value in columns.items()}, predicate=stays).execute()


def _source(changes: NetChanges) -> "pa.Table":
    """Both kinds of changes in one table; rows that are gone are null except for the key."""
    import pyarrow as pa

    parts = []
    for rows, gone in ((changes.gone, True), (changes.rows, False)):
        for entry in changes.rows.schema:
            if entry.name not in rows.column_names:
                rows = rows.append_column(entry, pa.nulls(len(rows), entry.type))
        rows = rows.select(changes.rows.column_names)
        parts.append(rows.append_column(_GONE, pa.array([gone] * len(rows), pa.bool_())))
    return pa.concat_tables(parts)


def _same(name: str) -> str:
    """A null-safe equality, as `=` is not true for two nulls."""
    old, new = f"old.{_quoted(name)}", f"new.{_quoted(name)}"
    return f"({old} = {new} OR ({old} IS NULL AND {new} IS NULL))"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_FRAME = re.compile(r"^ *\d+: .*", re.MULTILINE | re.DOTALL)
"""From the first line that starts with a frame number to the end."""


def words_of(error: BaseException) -> str:
    """Its message, or its class if it has none."""
    words = " ".join(_FRAME.sub("", _COLOURS.sub("", str(error))).split())
    return words or type(error).__name__


_PLAIN = {"timestampNtz", "vacuumProtocolCheck", "v2Checkpoint"}
"""Reader features of a table whose Parquet files contain exactly its rows."""

_SUPPORTED = {*_PLAIN, "deletionVectors"}
"""The supported reader features."""


@define(eq=False)
class DeltaSink(BatchSink):
    """Appends answers to a Delta table, and creates it if it does not exist.

    path: a folder, or an address such as s3://bucket/table. options: deltalake's `storage_options`.

    The micro-batch number is in the same commit as its answers, as the version of an application transaction with the
    stream's id.
    """

    path: str
    options: Mapping[str, str] = field(factory=dict)

    def latest(self, stream: str) -> int | None:
        with _errors_as_problems("path"):
            table = self._table()
            return None if table is None else table.transaction_version(stream)

    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:
        library = DELTA.imported()
        properties = library.CommitProperties(app_transactions=[library.Transaction(stream, batch)])
        self._write(answers, "append", properties)

    def exists(self) -> bool:
        with _errors_as_problems("path"):
            return bool(DELTA.imported().DeltaTable.is_deltatable(self.path, dict(self.options)))

    def check(self, schema: "pa.Schema") -> None:
        with _errors_as_problems("path"):
            table = self._table()
            if table is not None:
                _check_columns(self.path, table, schema_in_utc(schema))

    def append(self, answers: "pa.Table", replace: bool = False) -> None:
        self._write(answers, "overwrite" if replace else "append", None)

    def apply(self, changes: NetChanges, number: tuple[str, int] | None = None, replace: bool = False) -> None:
        library, changes = DELTA.imported(), changes_in_utc(changes)
        commit = None if number is None else library.CommitProperties(app_transactions=[library.Transaction(*number)])
        with _errors_as_problems("path"):
            table = self._table()
        if table is None or replace or not len(changes):
            self._write(changes.rows, "overwrite" if replace else "append", commit)
            return
        with _errors_as_problems("path"):
            _check_columns(self.path, table, changes.rows.schema)
            merge(table, changes, commit)

    def _table(self) -> Any:
        return DELTA.imported().DeltaTable(self.path, storage_options=dict(self.options)) if self.exists() else None

    def _write(self, answers: "pa.Table", mode: str, properties: Any) -> None:
        library, answers = DELTA.imported(), in_utc(answers)
        check_columns(answers.schema, "Delta", place="path")
        with _errors_as_problems("path"):
            table = self._table()
            if table is not None:
                _check_columns(self.path, table, answers.schema)
            library.write_deltalake(
                self.path if table is None else table, answers, mode=mode, commit_properties=properties,
                **({"storage_options": dict(self.options)} if table is None else {}),
            )  # fmt: skip


def _check_columns(path: str, table: Any, answers: "pa.Schema") -> None:
    """Raise ConfigError if the columns of a table differ from those of the answers."""
    schemas = table.schema(), DELTA.imported().Schema.from_arrow(answers)
    theirs, ours = ([(column.name, column.type) for column in schema.fields] for schema in schemas)
    if theirs != ours:
        columns = f"{_columns(theirs)}, and the rows to write {_columns(ours)}"
        message = f"the Delta table {path!r} has {columns}: choose another path"
        raise ConfigError(Problem("path", message))


def _columns(fields: list[tuple[str, Any]]) -> str:
    return ", ".join(f"{name} {getattr(kind, 'type', kind)}" for name, kind in fields)


@define(eq=False)
class DeltaRows(TableRows):
    """The current rows of a Delta table, in commit order."""

    path: str
    options: Mapping[str, str] = field(factory=dict)
    _table: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        with _errors_as_problems("path"):
            self._table = DELTA.imported().DeltaTable(self.path, storage_options=dict(self.options))

    @property
    def schema(self) -> "pa.Schema":
        """The Arrow schema. Raises ConfigError if the table needs an unsupported reader feature."""
        import pyarrow as pa

        unknown = sorted({*self._features()} - _SUPPORTED)
        if unknown:
            message = f"the Delta table {self.path!r} has {', '.join(unknown)}, which only Delta's connector can read"
            raise ConfigError(Problem("path", f"{message}: run on Spark and configure it under [spark]"))
        with _errors_as_problems("path"):
            return pa.schema(self._table.schema().to_arrow())

    @property
    def version(self) -> int:
        """The version of the table, which changes with each commit."""
        return int(self._table.version())

    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """The rows, with only the named columns."""
        with _errors_as_problems("path"):
            for part in self.parts():
                yield from part.batches(columns)

    def parts(self) -> list[DeltaPart]:
        """Its files, with partition columns and without deleted rows."""
        schema = self.schema
        with _errors_as_problems("path"):
            return parts_of(self._table, self.path, self.options, schema)

    def plain_files(self) -> list[str]:
        """The Parquet files, if they contain exactly the rows. Raises ConfigError if the log adds to them."""
        partitioned = ", ".join(self._table.metadata().partition_columns)
        more = [*self._features(), *([f"partitions by {partitioned}"] if partitioned else [])]
        more = [what for what in more if what not in _PLAIN]
        if more:
            message = f"the Delta table {self.path!r} has {', '.join(more)}, which Spark's file reader ignores"
            remedy = "let Python read it, or configure Delta's connector under [spark]"
            raise ConfigError(Problem("path", f"{message}: {remedy}"))
        return list(self._table.file_uris())

    def _features(self) -> list[str]:
        """The reader features that the table needs."""
        mode = self._table.metadata().configuration.get("delta.columnMapping.mode", "none")
        mapping = ["columnMapping"] if mode != "none" else []
        return sorted({*(self._table.protocol().reader_features or ()), *mapping})


@contextmanager
def _errors_as_problems(place: str) -> Iterator[None]:
    """Convert deltalake's errors to a problem with the table's path."""
    errors = DELTA.imported("exceptions")
    try:
        yield
    except Exception as error:
        kinds = errors.DeltaError, errors.DeltaProtocolError, OSError
        if not isinstance(error, kinds) and type(error) is not Exception:  # which deltalake 1.0 raises of a damaged log
            raise
        raise ConfigError(Problem(place, f"the Delta table: {words_of(error)}")) from error
