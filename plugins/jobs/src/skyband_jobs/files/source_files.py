"""Finds the files of a source on this machine, in the order Spark would read them, and reads them in batches."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve, frozen
from skyband.errors import ConfigError, Problem

from skyband_jobs.files.file_listing import base_of_keys, data_files, is_pattern, keys_of
from skyband_jobs.files.file_parts import FilePart
from skyband_jobs.files.refused_rows import RefusedRows
from skyband_jobs.files.row_location import PlacedBatches
from skyband_jobs.formats import names_of_formats
from skyband_jobs.tables.model import Source, file_path
from skyband_jobs.tables.spark_ddl import parse_ddl
from skyband_jobs.tables.store_paths import OutOfReachError, StorePath, check_reach

if TYPE_CHECKING:
    import pyarrow as pa
    from skyband.operator.bad_rows import RefuseUnreadable

    from skyband_jobs.files.columnar_files import Layout
    from skyband_jobs.files.table_source import Table
    from skyband_jobs.files.where_and_select import Shape

READABLE = ("parquet", "csv", "json", "text", "arrow")
"""The file formats that are read here, in addition to those of plugins."""

TEXT_FORMATS = ("csv", "json", "text")


@frozen
class Files:
    """The files of a source, at least one, oldest first, with their schema."""

    source: Source
    paths: tuple[Path, ...]
    raw: "pa.Schema"
    """The columns in the files."""
    shape: "Shape"
    schema: "pa.Schema"
    """The columns after `source.select`: all, unless it says which."""
    layout: "Layout | None"
    """How to read Parquet and Arrow files; None for text files."""

    def shaped(self, shape: "Shape") -> "Files":
        """The files after `where` and `select`. Raises ConfigError where these name other columns."""
        return evolve(self, shape=shape, schema=shape.schema(self.raw))

    def batches(
        self,
        columns: Iterable[str],
        parts: Iterable[FilePart] | None = None,
        dictionaries: bool = False,
        together: bool = False,
        refuse: "RefuseUnreadable | None" = None,
    ) -> PlacedBatches:
        """Their rows, file by file, or those of `parts`, with only these columns.

        dictionaries: whether text may be dictionary-encoded, if its file is. together: whether a batch may have rows
        of several small files. refuse: takes rows and rests of files that cannot be read, instead of an error.
        Iterating raises InputError where one cannot be read.
        """
        import pyarrow as pa

        names = list(columns)
        raw_schema = pa.schema([self.raw.field(name) for name in self.shape.reads(names)])
        schema = pa.schema([self.schema.field(name) for name in names])
        refused = None if refuse is None else RefusedRows(refuse)
        return PlacedBatches(
            map(FilePart, self.paths) if parts is None else parts,
            lambda part: self._read(part, raw_schema, dictionaries and self.shape.is_plain, refused),
            lambda batch: self.shape.apply(batch, schema, refused),
            (lambda parts: self._read_together(parts, raw_schema)) if together else None,
            refuse=refuse,
            refused=refused,
        )

    def _read_together(self, parts: tuple[FilePart, ...], fields: "pa.Schema") -> "pa.RecordBatch | None":
        """The rows of small files of one folder; None where they must be read one by one."""
        import pyarrow as pa

        from skyband_jobs.files import text_files
        from skyband_jobs.files.key_folders import with_keys

        if self.layout is not None:
            return None
        keys = keys_of(parts[0].path, base_of(self.source))
        is_plain = not keys.keys() & set(fields.names)
        own = self.raw if is_plain else pa.schema([field for field in self.raw if field.name not in keys])
        inside = fields if is_plain else pa.schema([field for field in fields if field.name not in keys])
        rows = text_files.read_together([part.path for part in parts], self.source, own, inside)
        if rows is None or is_plain:
            return rows
        return next(with_keys([rows], keys, fields, parts[0].path))

    def _read(
        self, part: FilePart, columns: "pa.Schema", dictionaries: bool, refused: RefusedRows | None
    ) -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        from skyband_jobs.files.key_folders import with_keys

        keys = keys_of(part.path, base_of(self.source))
        if not keys.keys() & set(columns.names):
            return self._read_file(part, self.raw, columns, dictionaries, refused)
        own = pa.schema([field for field in self.raw if field.name not in keys])
        inside = pa.schema([field for field in columns if field.name not in keys])
        return with_keys(self._read_file(part, own, inside, False, refused), keys, columns, part.path)

    def _read_file(
        self, part: FilePart, raw: "pa.Schema", fields: "pa.Schema", dictionaries: bool, refused: RefusedRows | None
    ) -> "Iterator[pa.RecordBatch]":
        if self.layout is None:
            from skyband_jobs.files import text_files

            return text_files.read(part.path, self.source, raw, fields, part.within, refused)
        from skyband_jobs.files import columnar_files

        return columnar_files.read(part.path, self.layout, fields, part.row_groups, dictionaries, refused)


def open_files(source: Source) -> "Files | Table | None":
    """The files of a source, or its table in a plugin's format; None where only Spark can look.

    That is the case elsewhere, or for formats not read here.
    Raises ConfigError where there is nothing to read, it cannot be read, or `where` and `select` are unknown here.
    """
    from skyband_jobs.files.where_and_select import Shape

    rows = open_all_columns(source)
    return None if rows is None else rows.shaped(Shape.of(source))


def open_all_columns(source: Source) -> "Files | Table | None":
    """The result of `open_files` before `where` and `select`. Raises ConfigError where it cannot be read."""
    if source.format in names_of_formats():
        from skyband_jobs.files.table_source import open_table

        return open_table(source)
    path = None if source.path is None else file_path(source.path)
    if path is None or source.format not in READABLE:
        return None
    import pyarrow as pa

    from skyband_jobs.files.where_and_select import Shape

    if source.format in TEXT_FORMATS:
        from skyband_jobs.files.text_files import beyond_readers  # with numba, by its kernels

        if beyond_readers(source) is not None:
            return None
    if isinstance(path, StorePath):
        check_reach(path)
    try:
        paths = data_files(path)
        if not paths:
            raise ConfigError(Problem("path", _nothing_at(path, source)))
        schema, layout = _schema(source, paths)
    except ConfigError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        detail = " ".join(str(error).split())
        problem = Problem("path", f"cannot be read as {source.format}: {detail}")
        raise (OutOfReachError if isinstance(path, StorePath) else ConfigError)(problem) from error
    return Files(source, tuple(paths), schema, Shape(), schema, layout)


def layout_of(source: Source) -> "Layout | None":
    """How to read Parquet and Arrow files; None for text files."""
    if source.format in TEXT_FORMATS:
        return None
    from skyband_jobs.files.columnar_files import Layout

    return Layout(source.format)


def _schema(source: Source, paths: list[Path]) -> "tuple[pa.Schema, Layout | None]":
    import pyarrow as pa

    from skyband_jobs.files.key_folders import further_key_fields, key_fields

    layout = layout_of(source)
    if source.schema is not None:
        declared = parse_ddl(source.schema)
        return pa.schema([*declared, *further_key_fields(paths, base_of(source), declared.names)]), layout
    if layout is None:
        from skyband_jobs.files import text_files

        own = text_files.schema_of(paths, source)
    else:
        from skyband_jobs.files import columnar_files

        own = columnar_files.schema_of(paths, layout)
    keys = key_fields(paths, base_of(source))
    names = {field.name for field in keys}
    return pa.schema([*(field for field in own if field.name not in names), *keys]), layout


def base_of(source: Source) -> Path:
    """The folder below which `key=value` folders are columns."""
    path = file_path(source.path or "")
    assert path is not None  # other paths are not read here
    return base_of_keys(path)


def _nothing_at(path: Path, source: Source) -> str:
    if is_pattern(path):
        return f"no file matches {str(path)!r}"
    if not path.exists():
        return f"{str(path)!r} does not exist"
    if source.stream:
        remedy = "; add a first file, or set its columns with source.schema" if source.schema is None else ""
        return f"{str(path)!r} has no data file yet{remedy}"
    return f"{str(path)!r} has no data file"
