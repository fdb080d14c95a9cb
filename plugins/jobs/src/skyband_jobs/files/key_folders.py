"""Folders called `key=value` are columns of the files in them, as in Spark, in every format and on every engine."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
from skyband.errors import InputError

from skyband_jobs.files.file_listing import keys_of
from skyband_jobs.tables.spark_ddl import ZONE

_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+[.]?\d*|[.]\d+)([eE][+-]?\d+)?|NaN|[+-]?Infinity", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.]\d{1,6})?)?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_NUMBERS = (pa.int32(), pa.int64(), pa.decimal128(38, 0), pa.float64())
"""From narrow to wide: mixed values have the widest type."""


def key_fields(paths: Iterable[Path], base: Path) -> list[pa.Field]:
    """The columns of all folders, each with the narrowest type that fits its values, as Spark infers it.

    The types are int, bigint, decimal, double, date, timestamp and string. O(folders).
    Raises InputError where folders have different keys: Spark would read such files only in part.
    """
    columns: dict[str, set[str | None]] = {}
    first = None
    for folder in dict.fromkeys(path.parent for path in paths):
        keys = keys_of(folder / "file", base)
        first = first or (folder, list(keys))
        if list(keys) != first[1]:
            here, there = (", ".join(names) or "none" for names in (keys, first[1]))
            message = f"its folders have the columns {here}, but those of {first[0]} have {there}"
            raise InputError(str(folder), f"{message}: name all the same way, or set source.path to one of them")
        for key, value in keys.items():
            columns.setdefault(key, set()).add(value)
    return [pa.field(key, _type_of(values)) for key, values in columns.items()]


def further_key_fields(paths: Iterable[Path], base: Path, declared: Iterable[str]) -> list[pa.Field]:
    """The columns of all folders that a declared schema lacks, as Spark adds them.

    None where folders have different keys, because none of them was asked for.
    """
    names = {name.lower() for name in declared}
    try:
        return [field for field in key_fields(paths, base) if field.name.lower() not in names]
    except InputError:
        return []


def with_keys(
    batches: Iterable[pa.RecordBatch], keys: dict[str, str | None], schema: pa.Schema, path: Path
) -> Iterator[pa.RecordBatch]:
    """Batches of a file with the columns of its folders, in the order of `schema`. Raises InputError."""
    from skyband_jobs.files.text_values import typed  # with all casts of text, which few sources need

    fields = pa.schema([field for field in schema if field.name in keys])
    texts = pa.RecordBatch.from_arrays([pa.array([keys[name]], pa.string()) for name in fields.names], fields.names)
    try:
        values = typed(texts, fields)
    except InputError as error:
        raise InputError(f"{path.parent}: {error.argument}", error.message) from error
    for batch in batches:
        repeated = {name: pa.repeat(values.column(name)[0], len(batch)) for name in fields.names}
        columns = [repeated[name] if name in repeated else batch.column(name) for name in schema.names]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _type_of(values: set[str | None]) -> pa.DataType:
    kinds = {_type_of_one(value) for value in values if value is not None}
    if kinds and kinds <= set(_NUMBERS):
        return _NUMBERS[max(_NUMBERS.index(kind) for kind in kinds)]
    return kinds.pop() if len(kinds) == 1 else pa.string()


def _type_of_one(value: str) -> pa.DataType:
    if _WHOLE.fullmatch(value) and len(value.lstrip("+-")) <= 38:
        size = max(int(value), -int(value) - 1)
        return _NUMBERS[0] if size < 1 << 31 else _NUMBERS[1] if size < 1 << 63 else _NUMBERS[2]
    if _NUMBER.fullmatch(value):
        return pa.float64()
    try:
        if _DAY.fullmatch(value) and date.fromisoformat(value):
            return pa.date32()
        if _INSTANT.fullmatch(value) and datetime.fromisoformat(value):
            return pa.timestamp("us", ZONE)
    except ValueError:  # such as the 31st of February
        pass
    return pa.string()
