"""Reads a file of expected answers with the types of a job's answers, and writes one."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from attrs import evolve
from skyband.atomic_files import replacing
from skyband.columns.keyed_frames import plain_type
from skyband.errors import ConfigError, InputError, Problem
from skyband_jobs.files.csv_columns import unwritable_in_csv
from skyband_jobs.files.source_files import Files, open_files
from skyband_jobs.formats.json_rows import json_rows
from skyband_jobs.tables.model import Source

from skyband_compare.testing.file_formats import format_of


def read_expected(path: Path, answers: pa.Schema) -> pa.Table:
    """The rows of a file, with its columns in the order and types of `answers`.

    Raises ConfigError if it has another column or cannot be read, InputError if a value has another type.
    """
    kind = format_of(path)
    source = Source(format=kind, path=str(path), options={"header": True} if kind == "csv" else {})
    try:
        if kind in ("csv", "json") and not path.read_bytes().strip():
            return answers.empty_table()
        rows = open_files(source)
    except ConfigError as error:
        raise _error(path, "; ".join(problem.message for problem in error.problems)) from error
    assert isinstance(rows, Files), "local files"
    names = rows.schema.names
    _check_names(path, names, answers)
    kinds = {field.name: plain_type(field.type) for field in answers}
    schema = pa.schema([(name, kinds[name] if rows.layout is None else rows.raw.field(name).type) for name in names])
    typed = evolve(rows, raw=schema, schema=schema)
    compared = [name for name in answers.names if name in names]
    try:
        batches = [batch.cast(_only(schema, compared)) for batch in typed.batches(compared)]
        table = pa.Table.from_batches(batches, _only(schema, compared))
        return table.cast(pa.schema([(name, kinds[name]) for name in compared]))
    except pa.ArrowException as error:
        raise _error(path, " ".join(str(error).split())) from error
    except InputError as error:
        raise _error(path, str(error)) from error


def write_expected(path: Path, answers: pa.Table) -> None:
    """Write answers to a file atomically. Raises ConfigError if its format does not support a column."""
    kind = format_of(path)
    if kind == "csv" and (unwritable := unwritable_in_csv(answers.schema)):
        raise _error(path, unwritable[0].message)
    plain = answers.cast(pa.schema([(field.name, plain_type(field.type)) for field in answers.schema]))
    with replacing(path) as file:
        if kind == "csv":
            pyarrow.csv.write_csv(plain, file, pyarrow.csv.WriteOptions(quoting_style="needed"))
        elif kind == "json":
            file.writelines(line.encode() + b"\n" for line in json_rows(plain))
        elif kind == "parquet":
            pyarrow.parquet.write_table(plain, file)
        else:
            with pa.ipc.new_file(file, plain.schema) as out:
                out.write_table(plain)


def _check_names(path: Path, names: Sequence[str], answers: pa.Schema) -> None:
    others = [name for name in names if name not in answers.names]
    if others:
        known = ", ".join(answers.names)
        columns = "a column" if len(others) == 1 else "columns"
        raise _error(path, f"has {columns} {', '.join(map(repr, others))} that the answers lack; they have {known}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise _error(path, f"has two columns {twice!r}: rename one")
    if not names:
        raise _error(path, f"has no columns; the answers have {', '.join(answers.names)}")


def _only(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names])


def _error(path: Path, message: str) -> ConfigError:
    return ConfigError(Problem(str(path), message))
