"""A job to begin with, of files that nobody has described: how they are read, their columns, and what may be asked."""

import csv
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from skyband.data_files import SUFFIXES, data_files, format_by_name
from skyband.errors import ConfigError, InputError, Problem
from skyband.job.model import Source

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from skyband.queries.first_query import ColumnSample, SourceSample

_ROWS, _BYTES = 100_000, 1 << 22
"""What is looked at: so many first rows, of text so many first bytes."""

_SECOND = 1_000_000
_LENGTHS = {
    "1 second": _SECOND, "10 seconds": 10 * _SECOND, "1 minute": 60 * _SECOND, "10 minutes": 600 * _SECOND,
    "1 hour": 3_600 * _SECOND, "1 day": 86_400 * _SECOND, "7 days": 604_800 * _SECOND,
}  # fmt: skip
_ANSWERS = 8
"""So many windows, at least, are in the rows that are looked at."""

_EPOCHS = {"timestamp_seconds": _SECOND, "timestamp_millis": 1_000, "timestamp_micros": 1}
"""Spark's functions that make times of whole numbers, each with the microseconds of one."""
_EARLIEST, _LATEST = 946_684_800 * _SECOND, 4_102_444_800 * _SECOND
"""Whole numbers are taken for times of the years 2000 to 2099."""


def is_data(path: str | Path) -> bool:
    """Whether a path names data and no job: a folder, or a file that ends as those do."""
    return Path(path).is_dir() or format_by_name(Path(path)) is not None


def first_job(path: str | Path) -> str:
    """The text of a job over these files, with a first query, others as comments, and their columns.

    Of text it looks at the first 4 MB, of others at the first 100,000 rows. Nothing is written.
    Raises ConfigError where the files cannot be read, or hold no times.
    """
    path = Path(path)
    files = [file for file in data_files(path) if format_by_name(file) is not None]
    if not files:
        raise ConfigError(Problem("path", f"{str(path)!r} holds no file that ends with {', '.join(SUFFIXES)}"))
    try:
        source, rows = _first_rows(files[0], path)
    except OSError as error:
        raise ConfigError(Problem("path", f"{str(files[0])!r} cannot be read: {error}")) from error
    return _Writer(path, *_with_times(source, rows, path)).text()


def _first_rows(file: Path, path: Path) -> "tuple[Source, pa.Table]":
    """A source that reads the path, and the first rows of its first file."""
    name = format_by_name(file)
    assert name is not None  # others were left out
    if name not in ("csv", "json"):
        return Source(name, str(path)), _table_of(Source(name, str(file)))
    text = _head(file)
    options = _csv_options(text.decode(errors="replace")) if name == "csv" else {}
    infers = {"inferSchema": True} if name == "csv" else {}
    with tempfile.TemporaryDirectory() as folder:
        head = Path(folder) / file.name.removesuffix(file.suffix)
        head.write_bytes(text)
        try:
            rows = _table_of(Source(name, str(head), options={**options, **infers}))
        except (ConfigError, InputError) as error:
            raise ConfigError(
                Problem("path", str(error).replace(str(head), str(file)).removeprefix("path: "))
            ) from error
    return Source(name, str(path), options=options), rows


def _head(file: Path) -> bytes:
    """The first whole records of a text file: of CSV a line break may be within quotes."""
    from skyband.job.sources.text_encodings import open_text

    with open_text(file) as take:
        text = take(_BYTES)
    if len(text) < _BYTES:
        return text
    end = len(text)
    while (end := text.rfind(b"\n", 0, end)) >= 0:
        if text.count(b'"', 0, end) % 2 == 0:
            return text[: end + 1]
    return text


def _csv_options(text: str) -> dict[str, Any]:
    """The mark between the values, and whether the first line names the columns."""
    lines = text.splitlines()[:50]
    mark = max(",\t;|", key=lambda mark: _regularity([*csv.reader(lines, delimiter=mark)]))
    first = next(csv.reader(lines, delimiter=mark), [])
    options: dict[str, Any] = {} if mark == "," else {"sep": mark}
    return {"header": True, **options} if first and _is_header(first) else options


def _regularity(records: list[list[str]]) -> int:
    """How many values the records of a file have where all have as many; 0 where they do not, or have one."""
    sizes = {len(record) for record in records if record}
    return min(sizes, default=1) - 1 if len(sizes) <= 1 else 0


def _is_header(names: list[str]) -> bool:
    """Whether a first record is one of names: all different, none empty, none a number or a time."""
    if len(set(names)) < len(names) or not all(name.strip() for name in names):
        return False
    return not any(name.strip()[0].isdigit() or name.strip()[0] in "+-." for name in names)


def _table_of(source: Source) -> "pa.Table":
    import pyarrow as pa

    from skyband.columns.keyed_frames import plain_type
    from skyband.job.sources.source_files import Files, open_all_columns

    opened = open_all_columns(source)
    assert isinstance(opened, Files)  # a file here, of a format that is read here
    batches, rows = [], 0
    for batch in opened.batches(opened.schema.names):
        batches.append(batch.slice(0, _ROWS - rows))
        rows += len(batches[-1])
        if rows == _ROWS:
            break
    table = pa.Table.from_batches(batches, opened.schema)
    return table.cast(pa.schema([field.with_type(plain_type(field.type)) for field in table.schema]))


@frozen
class _Times:
    """The column that says when a row happened, in microseconds (int64[n]) without nulls, and what makes it."""

    name: str
    moments: "np.ndarray[Any, np.dtype[np.int64]]"
    epoch_function: str | None = None
    """The function that makes it of whole numbers."""


def _with_times(source: Source, rows: "pa.Table", path: Path) -> "tuple[Source, pa.Table, _Times]":
    """The rows with text that holds times as times, and which column is the time of a row: the first, those of a type
    of times before text, text before numbers."""
    import pyarrow as pa

    for place, field in enumerate(rows.schema):
        if source.format == "json" and pa.types.is_string(field.type):
            moments = _instants(rows.column(place))
            if moments is not None:
                rows = rows.set_column(place, field.name, moments)
    kinds = {field.name: field.type for field in rows.schema}
    stamped = [name for name, kind in kinds.items() if pa.types.is_timestamp(kind)]
    for name in [*stamped, *(name for name, kind in kinds.items() if pa.types.is_date(kind))]:
        moments = rows.column(name).cast(pa.timestamp("us", getattr(kinds[name], "tz", None)), safe=False)
        return source, rows, _Times(name, _numbers(moments.cast(pa.int64())))
    for name, kind in kinds.items():
        if pa.types.is_integer(kind):
            numbers = _numbers(rows.column(name).cast(pa.int64(), safe=False))
            for function, unit in _EPOCHS.items():
                if len(numbers) and _EARLIEST <= int(numbers.min()) * unit <= int(numbers.max()) * unit < _LATEST:
                    return source, rows, _Times(name, numbers * unit, function)
    message = "holds no column of times: one of text such as 2026-01-31 09:30:00, or of seconds since 1970, is needed"
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    raise ConfigError(Problem("path", f"{str(path)!r} {message} (it has {columns:.500})"))


def _numbers(column: "pa.ChunkedArray") -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Those that are no nulls."""
    numbers: np.ndarray[Any, np.dtype[np.int64]] = column.drop_null().to_numpy()
    return numbers


def _instants(texts: "pa.ChunkedArray") -> "pa.ChunkedArray | None":
    """Text as times, where all of it is."""
    import pyarrow as pa

    from skyband.job.sources.text_values import instants

    try:
        moments = [instants(chunk) for chunk in texts.chunks if len(chunk)]
    except pa.ArrowInvalid:
        return None
    column = pa.chunked_array(moments, pa.timestamp("us", "UTC"))
    return column if len(column) > column.null_count else None


@frozen
class _Writer:
    """A job's text from what is known of its source."""

    path: Path
    source: Source
    rows: "pa.Table"
    times: _Times

    def text(self) -> str:
        """The job."""
        samples = self._samples()
        queries, broken = self._queries(samples)
        if not queries:
            names = ", ".join(self.rows.column_names)
            message = f"no query that is installed has a first question for its columns ({names:.500})"
            raise ConfigError(Problem("path", f"{message}; `skyband queries` lists what can be asked"))
        tables = "\n\n".join(
            self._table(kind, question, keys, commented=place > 0)
            for place, (kind, question, keys) in enumerate(queries)
        )
        tables = "\n".join([tables, *([""] if broken else []), *broken])
        return f'{self._columns(samples)}\n\n{self._source()}\n\n{tables}\n\n[sink]\nformat = "console"\n'

    def _columns(self, samples: "list[ColumnSample]") -> str:
        width = max(map(len, self.rows.column_names))
        lines = [f"#   {one.name:{width}}  {self._description(one)}" for one in samples]
        looked = f"# A first job over {self.path.name}, after a look at {len(self.rows):,} rows:"
        return "\n".join([looked, *(line.replace("\n", " ") for line in lines)])

    def _description(self, column: "ColumnSample") -> str:
        import pyarrow.compute as pc

        nulls = f", {column.nulls:,} null" if column.nulls else ""
        if column.distinct == 0:
            return f"{column.type}{nulls}"
        ends = pc.min_max(self.rows.column(column.name)).as_py()
        lowest, highest = (f"{value!s:.40}" for value in (ends["min"], ends["max"]))
        return f"{column.type}, {column.distinct:,} different from {lowest} to {highest}{nulls}"

    def _samples(self) -> "list[ColumnSample]":
        import pyarrow as pa
        import pyarrow.compute as pc

        from skyband.queries.first_query import ColumnSample

        samples = []
        for field, column in zip(self.rows.schema, self.rows.columns, strict=True):
            try:
                distinct = pc.count_distinct(column).as_py()
                pc.min_max(column)
            except pa.ArrowNotImplementedError:  # lists, structs and others that are not compared
                distinct = 0
            samples.append(ColumnSample(field.name, field.type, distinct, column.null_count))
        return samples

    def _sample(self, samples: "list[ColumnSample]") -> "SourceSample":
        import numpy as np

        from skyband.queries.first_query import SourceSample

        moments = self.times.moments
        late = int((np.maximum.accumulate(moments) - moments).max()) if len(moments) else 0
        covered = int(moments.max() - moments.min()) if len(moments) else 0
        suited = [name for name, length in _LENGTHS.items() if covered >= _ANSWERS * length]
        delays = [name for name, length in _LENGTHS.items() if length >= late] or [f"{late // _SECOND + 1} seconds"]
        columns = tuple(one for one in samples if one.name != self.times.name)
        window = suited[-1] if suited else "1 second" if covered else "1 hour"
        return SourceSample(len(self.rows), self.times.name, window, delays[0] if late else "0 seconds", columns)

    def _queries(self, samples: "list[ColumnSample]") -> "tuple[list[tuple[str, str, Mapping[str, Any]]], list[str]]":
        """Kind, question and keys of what each kind would ask; and a comment for each that asks what cannot be."""
        from skyband.queries import kinds, load_query, make_query
        from skyband.registry.discovery import cause

        sample, queries, broken = self._sample(samples), list[tuple[str, str, Mapping[str, Any]]](), list[str]()
        for kind in sorted(kinds()):
            try:
                first = load_query(kind).first_query(sample)
                if first is None:
                    continue
                keys = {"time": sample.time, **first.keys, "delay": sample.delay}
                if problems := make_query({"kind": kind, **keys}).check(self._schema()):
                    raise ConfigError(*problems)
            except (Exception, SystemExit) as error:  # a guest's own code; the other kinds are there
                broken.append(f"# {kind} has no first query here: {' '.join(cause(error).split())}")
                continue
            queries.append((kind, first.question, keys))
        return queries, broken

    def _schema(self) -> "pa.Schema":
        import pyarrow as pa

        if self.times.epoch_function is None:
            return self.rows.schema
        place = self.rows.schema.get_field_index(self.times.name)
        return self.rows.schema.set(place, pa.field(self.times.name, pa.timestamp("us", "UTC")))

    def _source(self) -> str:
        from skyband.job.sources.spark_ddl import ddl_of

        place = os.path.relpath(self.path)
        keys: dict[str, Any] = {"format": self.source.format, "path": self.path.as_posix() if ".." in place else place}
        if self.source.format in ("csv", "json"):
            keys["schema"] = ddl_of(self.rows.schema)
        if self.source.options:
            keys["options"] = self.source.options
        lines = ["[source]", *(f"{name} = {_toml(value)}" for name, value in keys.items())]
        if self.times.epoch_function is not None:
            names = [f"`{name}`" if not name.isidentifier() else name for name in self.rows.column_names]
            mine = f"`{self.times.name}`" if not self.times.name.isidentifier() else self.times.name
            columns = [f"{self.times.epoch_function}({name}) AS {name}" if name == mine else name for name in names]
            lines += [f"select = {_toml(columns)}"]
        return "\n".join(lines)

    def _table(self, kind: str, question: str, keys: Mapping[str, Any], commented: bool) -> str:
        lines = ["[query]", f"kind = {_toml(kind)}", *(f"{name} = {_toml(value)}" for name, value in keys.items())]
        if commented:
            return "\n".join([f"# Or: {question}", *(f"# {line}" for line in lines)])
        return "\n".join([f"# {question[0].upper()}{question[1:]}", *lines])


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(entry)}" for name, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
