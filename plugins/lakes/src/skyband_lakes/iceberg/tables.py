"""Reads and writes Apache Iceberg tables with the library pyiceberg, without Spark's connector."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field
from skyband.errors import ConfigError, Problem, suggest
from skyband_jobs.formats import BatchSink, NetChanges, TableRows

from skyband_lakes.iceberg.catalog import absolute_catalog, catalog_errors, is_there, opened
from skyband_lakes.iceberg.parts import IcebergPart
from skyband_lakes.libraries import ICEBERG
from skyband_lakes.limits import check_columns, check_years
from skyband_lakes.utc import changes_in_utc, in_utc, schema_in_utc

if TYPE_CHECKING:
    import pyarrow as pa

_STREAM, _BATCH = "skyband.stream", "skyband.batch"
_TURNS = 5
"""How often rewriting a table is retried after commits of other writers."""


def _local_properties(properties: Mapping[str, str]) -> dict[str, str]:
    return absolute_catalog(properties, Path.cwd())


@define(eq=False)
class IcebergSink(BatchSink):
    """Appends answers to an Iceberg table, and creates it, its namespace and a SQLite catalogue if they do not exist.

    table: its name in the catalogue, such as db.answers. catalog: the properties of pyiceberg's catalogue.

    The micro-batch number is in the snapshot of its answers, with the stream's id, and in the table's properties, where
    it outlives the snapshot.
    """

    table: str
    catalog: Mapping[str, str] = field(factory=dict, converter=_local_properties)

    def latest(self, stream: str) -> int | None:
        if not is_there(self.catalog):
            return None
        with opened(self.catalog) as catalog:
            table = self._loaded(catalog)
            return None if table is None else _latest(table, stream)

    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:
        answers = in_utc(answers)
        with self._changes(answers) as changes:
            changes.append(answers, snapshot_properties={_STREAM: stream, _BATCH: str(batch)})
            changes.set_properties({_property(stream): str(batch)})

    def apply(self, changes: NetChanges, number: tuple[str, int] | None = None, replace: bool = False) -> None:
        """Rewrite the table, as pyiceberg has no commit that replaces some rows and deletes others; retry if other
        writers committed meanwhile."""
        changes = changes_in_utc(changes)
        for turns_left in range(_TURNS - 1, -1, -1):
            try:
                self._write_anew(changes, number, replace)
                return
            except ConfigError as error:
                if not turns_left or not _is_conflict(error.__cause__):
                    raise

    def _write_anew(self, changes: NetChanges, number: tuple[str, int] | None, replace: bool) -> None:
        summary = {} if number is None else {_STREAM: number[0], _BATCH: str(number[1])}
        with opened(self.catalog) as catalog, _holdable():
            table = self._loaded(catalog)
            _check_times(changes.rows)
            rows = changes.rows if table is None or replace else _with_others(self.table, table, changes)
            with self._commit(catalog, table, changes.rows.schema) as commit:
                _overwrite(commit, rows, summary)
                if number is not None:
                    commit.set_properties({_property(number[0]): str(number[1])})

    def exists(self) -> bool:
        """Whether the table has been written to: an existing empty table can be used."""
        if not is_there(self.catalog):
            return False
        with opened(self.catalog) as catalog:
            table = self._loaded(catalog)
            return table is not None and table.current_snapshot() is not None

    def check(self, schema: "pa.Schema") -> None:
        if not is_there(self.catalog):
            return
        with opened(self.catalog) as catalog, _holdable():
            table = self._loaded(catalog)
            if table is not None:
                _check_columns(self.table, table, schema_in_utc(schema))

    def append(self, answers: "pa.Table", replace: bool = False) -> None:
        answers = in_utc(answers)
        with self._changes(answers) as changes:
            if replace:
                _overwrite(changes, answers, {})
            else:
                changes.append(answers)

    def _loaded(self, catalog: Any) -> Any:
        try:
            return catalog.load_table(self.table)
        except ICEBERG.imported("exceptions").NoSuchTableError:
            return None

    @contextmanager
    def _changes(self, answers: "pa.Table") -> Iterator[Any]:
        """Changes in one commit, which creates the table if it does not exist."""
        _check_times(answers)
        with (
            opened(self.catalog) as catalog,
            _holdable(),
            self._commit(catalog, self._loaded(catalog), answers.schema) as changes,
        ):
            yield changes

    @contextmanager
    def _commit(self, catalog: Any, table: Any, answers: "pa.Schema") -> Iterator[Any]:
        check_columns(answers, "Iceberg")
        if table is not None:
            _check_columns(self.table, table, answers)
            with table.transaction() as changes:
                yield changes
            return
        catalog.create_namespace_if_not_exists(self.table.rpartition(".")[0])
        with catalog.create_table_transaction(self.table, answers) as changes:
            yield changes


def _is_conflict(cause: BaseException | None) -> bool:
    errors = ICEBERG.imported("exceptions")
    return isinstance(cause, errors.CommitFailedException | errors.ValidationException)


def _check_times(rows: "pa.Table") -> None:
    """Refuse times beyond Python's: the library records the first and last time of a file as such."""
    import pyarrow as pa

    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if pa.types.is_timestamp(column.type):
            check_years(name, column.cast(pa.timestamp("us", column.type.tz), safe=False))


def _overwrite(commit: Any, rows: "pa.Table", summary: Mapping[str, str]) -> None:
    with warnings.catch_warnings():  # of having nothing to delete
        warnings.simplefilter("ignore", UserWarning)
        commit.overwrite(rows, snapshot_properties=dict(summary))


def _with_others(name: str, table: Any, changes: NetChanges) -> "pa.Table":
    """The contents of a table after these changes."""
    import pyarrow as pa

    _check_columns(name, table, changes.rows.schema)
    there = table.scan().to_arrow()
    stay = changes.others(there)
    return pa.concat_tables([stay, changes.rows.select(there.column_names).cast(there.schema)])


def _property(stream: str) -> str:
    return f"{_BATCH}.{stream}"


def _latest(table: Any, stream: str) -> int | None:
    """The last micro-batch of a stream in the ancestors of the table's current snapshot.

    If the oldest of these have expired, the table's properties have the number. They are not used otherwise, because a
    table that was rolled back still has them.
    """
    snapshot = first = table.current_snapshot()
    while snapshot is not None:
        summary = snapshot.summary.additional_properties if snapshot.summary is not None else {}
        if summary.get(_STREAM) == stream:
            return int(summary[_BATCH])
        first, parent = snapshot, snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
    if first is None or first.sequence_number == 1:
        return None
    number = table.properties.get(_property(stream))
    return None if number is None else int(number)


@contextmanager
def _holdable() -> Iterator[None]:
    """Raise ConfigError for a column whose type Iceberg does not have."""
    try:
        yield
    except ICEBERG.imported("io.pyarrow").UnsupportedPyArrowTypeException as error:
        message = f"an Iceberg table cannot hold these rows: {error}: leave it out of the query, or use another format"
        raise ConfigError(Problem("format", message)) from error


def _check_columns(name: str, table: Any, answers: "pa.Schema") -> None:
    """Raise ConfigError if a table's columns differ from those of the answers, or cannot hold their values."""
    schema = table.schema()
    if {column.name for column in schema.fields} == set(answers.names):
        ours = ICEBERG.imported("io.pyarrow").pyarrow_to_schema(answers, schema.name_mapping)
        if all(_holds(column, ours.find_field(column.name)) for column in schema.fields):
            return
    has = ", ".join(f"{each.name}{' required' if each.required else ''} {each.field_type}" for each in schema.fields)
    answer_columns = ", ".join(f"{column.name} {column.type}" for column in answers)
    message = f"the Iceberg table {name!r} has {has}, and the rows to write {answer_columns}: choose another table"
    raise ConfigError(Problem("table", message))


def _holds(column: Any, answer: Any) -> bool:
    if column.required and not answer.required:
        return False
    if column.field_type == answer.field_type:
        return True  # `promote` refuses some equal types
    if isinstance(answer.field_type, ICEBERG.imported("types").StringType):
        return False  # it would promote text to bytes, and return bytes
    try:
        ICEBERG.imported("schema").promote(answer.field_type, column.field_type)
    except ICEBERG.imported("exceptions").ResolveError:
        return False
    return True


@define(eq=False)
class IcebergRows(TableRows):
    """The current rows of an Iceberg table, in commit order."""

    name: str
    catalog: Mapping[str, str] = field(factory=dict, converter=_local_properties)
    _table: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        if not is_there(self.catalog):
            uri = self.catalog["uri"]
            raise ConfigError(Problem("catalog.uri", f"no such file ({uri}): name the catalogue that has {self.name}"))
        missing = ICEBERG.imported("exceptions").NoSuchTableError
        with opened(self.catalog) as catalog:
            try:
                self._table = catalog.load_table(self.name)
            except missing as error:
                raise ConfigError(Problem("table", self._unknown(catalog))) from error

    def _unknown(self, catalog: Any) -> str:
        tables = [".".join(name) for space in catalog.list_namespaces() for name in catalog.list_tables(space)]
        message = f"there is no Iceberg table {self.name!r} in the catalogue {catalog.name!r}"
        return (
            f"{message}; {suggest(self.name, tables)}" if tables else f"{message}, which is empty: check catalog.name"
        )

    @property
    def schema(self) -> "pa.Schema":
        """The Arrow schema."""
        import pyarrow as pa

        with catalog_errors("table"):
            arrow = ICEBERG.imported("io.pyarrow")
            columns = arrow.schema_to_pyarrow(self._table.schema(), include_field_ids=False)
        return pa.schema([column.with_type(_plain(column.type)) for column in columns])

    @property
    def version(self) -> int | None:
        """The snapshot of the table, which changes with each commit."""
        return self._table.metadata.current_snapshot_id

    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """The rows, with only the named columns."""
        for part in self.parts():  # one by one, to keep memory small
            yield from part.batches(columns)

    def parts(self) -> list[IcebergPart]:
        """Its files, each with its deletes."""
        with catalog_errors("table"):
            table, schema = self._table, self.schema
            return [IcebergPart(table.metadata, table.io, task, schema) for task in self._tasks(table.scan())]

    def plain_files(self) -> list[str]:
        """The Parquet files, if they contain exactly the rows. Raises ConfigError otherwise."""
        with catalog_errors("table"):
            tasks = self._tasks(self._table.scan())
        deletes = any(task.delete_files for task in tasks)
        others = sorted({str(task.file.file_format.value).lower() for task in tasks} - {"parquet"})
        for wrong, what in (
            (deletes, "has separate files of deleted rows"),
            (others, f"has files in {', '.join(others)}"),
            (len(self._table.schemas()) > 1, "had other columns before"),
        ):
            if wrong:
                message = f"the Iceberg table {self.name!r} {what}, which Spark's file reader ignores"
                remedy = "let Python read it, or configure Iceberg's connector under [spark]"
                raise ConfigError(Problem("table", f"{message}: {remedy}"))
        return [task.file.file_path for task in tasks]

    def _tasks(self, scan: Any) -> list[Any]:
        """The files to read, in commit order."""
        snapshot = self._table.current_snapshot()
        manifests = [] if snapshot is None else snapshot.manifests(self._table.io)
        entries = [entry for manifest in manifests for entry in manifest.fetch_manifest_entry(self._table.io)]
        order = {entry.data_file.file_path: (entry.sequence_number or 0, at) for at, entry in enumerate(entries)}
        return sorted(scan.plan_files(), key=lambda task: order[task.file.file_path])


def _plain(type: Any) -> Any:
    """A type as in other Parquet readers: pyiceberg returns the large ones, with 64-bit offsets."""
    import pyarrow as pa

    small = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    if pa.types.is_large_list(type):
        return pa.list_(type.value_field.with_type(_plain(type.value_type)))
    return small.get(type, type)
