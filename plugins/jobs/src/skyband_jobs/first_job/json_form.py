"""Guesses the form of JSON text, and its columns: nested objects, and rows in a list."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skyband_jobs.first_job.csv_form import quoted
from skyband_jobs.first_job.first_rows import first_rows, with_times
from skyband_jobs.tables.model import Source

if TYPE_CHECKING:
    import pyarrow as pa


def json_form(head: Path, text: bytes, encoding: Mapping[str, Any]) -> "tuple[Source, pa.Table, tuple[str, ...]]":
    """How to read text that is also in the file `head`, with its rows and notes. Raises ConfigError or InputError."""
    import pyarrow as pa

    from skyband_jobs.tables.spark_ddl import ddl_of

    lines, options = _as_lines(text)
    if options:
        head.write_bytes(lines)
    inferred = first_rows(Source("json", str(head)))
    explode = _list_of_rows(inferred) if options else None
    schema = pa.schema([field for field in map(_without_nulls, inferred.schema) if field is not None])
    if explode is not None:
        schema = pa.schema([schema.field(explode)])
    rows = first_rows(Source("json", str(head), schema=ddl_of(schema)))
    if with_times(rows, {}) != rows.schema:
        schema = with_times(rows, {})
        rows = first_rows(Source("json", str(head), schema=ddl_of(schema)))
    notes: tuple[str, ...] = ("one array, or object, over lines",) if options else ("one object a line",)
    if explode is not None:
        notes += (f"the rows are in the list {explode}",)
    source = Source("json", str(head), schema=ddl_of(schema), options={**options, **encoding}, explode=explode)
    return source, rows, notes


def _as_lines(text: bytes) -> tuple[bytes, dict[str, Any]]:
    """The complete objects of an array, or of an object over several lines, one a line; and the options to read it."""
    import numpy as np

    from skyband_jobs.kernels.record_boundaries import FINE, json_elements, json_lines

    view = np.frombuffer(text, np.uint8)
    if text.lstrip()[:1] != b"[" and json_lines(view)[0] == FINE:
        return text, {}
    lines = view.copy()
    end, depth = json_elements(lines, 0)
    whole = lines.tobytes() if depth == 0 else lines.tobytes()[:end]
    return (whole, {"multiLine": True}) if whole.strip() else (text, {})


def _list_of_rows(rows: "pa.Table") -> str | None:
    """The longest list of objects in a file that is one object."""
    import pyarrow as pa

    if len(rows) != 1:
        return None
    lists = [field.name for field in rows.schema if pa.types.is_list(field.type)]
    lists = [name for name in lists if pa.types.is_struct(rows.schema.field(name).type.value_type)]
    sizes = {name: len(rows.column(name)[0].as_py() or ()) for name in lists}
    return max(sizes, key=lambda name: sizes[name]) if sizes else None


def _without_nulls(field: "pa.Field") -> "pa.Field | None":
    """A field with text instead of times, without parts that are null in all rows; None if that is all of it."""
    import pyarrow as pa

    kind = field.type
    if pa.types.is_null(kind):
        return None
    if pa.types.is_timestamp(kind):
        return field.with_type(pa.string())
    if pa.types.is_list(kind):
        item = _without_nulls(kind.value_field)
        return None if item is None else field.with_type(pa.list_(item.type))
    if pa.types.is_struct(kind):
        inner = [one for one in map(_without_nulls, kind) if one is not None]
        return field.with_type(pa.struct(inner)) if inner else None
    return field


def leaf_columns(schema: "pa.Schema") -> dict[str, str]:
    """Expressions of all fields that are not objects, by unique names."""
    paths = [*_leaves(schema)]
    lasts = Counter(path[-1] for path in paths)
    names = ["_".join(path) if lasts[path[-1]] > 1 else path[-1] for path in paths]
    return {name: ".".join(map(quoted, path)) for name, path in zip(names, paths, strict=True)}


def _leaves(fields: "Iterable[pa.Field]", path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    import pyarrow as pa

    for field in fields:
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type, (*path, field.name))
        else:
            yield (*path, field.name)


def elements(rows: "pa.Table", explode: str) -> "pa.Table":
    """The rows in a list of each row."""
    from skyband_jobs.files.where_and_select import Shape

    shape = Shape(explode=explode)
    schema = shape.schema(rows.schema)
    import pyarrow as pa

    batches = [shape.apply(batch, schema)[0] for batch in rows.combine_chunks().to_batches()]
    return pa.Table.from_batches(batches, schema)
