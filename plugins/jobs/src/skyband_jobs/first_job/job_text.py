"""Writes the text of a first job: its columns, its source, a query that fits, and others as comments."""

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen
from skyband.errors import ConfigError, Problem

from skyband_jobs.files.file_listing import data_files
from skyband_jobs.first_job.calendar_columns import is_part
from skyband_jobs.first_job.csv_form import quoted
from skyband_jobs.first_job.first_rows import ROWS
from skyband_jobs.first_job.raw_files import RawFiles, candidates
from skyband_jobs.first_job.times import Times, order_in, times_in, value_of

if TYPE_CHECKING:
    import pyarrow as pa
    from skyband.queries.first_query import ColumnSample, SourceSample

    from skyband_jobs.tables.model import Source

_SECOND = 1_000_000
_LENGTHS = {
    "1 second": _SECOND, "10 seconds": 10 * _SECOND, "1 minute": 60 * _SECOND, "10 minutes": 600 * _SECOND,
    "1 hour": 3_600 * _SECOND, "1 day": 86_400 * _SECOND, "7 days": 604_800 * _SECOND,
}  # fmt: skip
_ANSWERS = 8
"""The least number of windows in the rows that are looked at."""
_MOST_COLUMNS = 40
"""For nested objects; other files keep all columns."""


@frozen
class FirstJob:
    """A first job: its text, and what was observed and guessed, a sentence each."""

    text: str
    notes: tuple[str, ...]


def first_job(path: str | Path, folder: Path | None = None) -> FirstJob:
    """A job for these files, with a first query, others as comments, and a list of columns.

    folder: where the job will be written; None where that is unknown, and its path is then absolute.
    It looks at the first 4 MB of text, or the first 100,000 rows of other formats. Nothing is written.
    Raises ConfigError where the files cannot be read, or contain no times.
    """
    path, raw = Path(path), None
    for raw in candidates(path):
        if len(raw.rows) == 0:
            raise ConfigError(Problem("path", f"{str(path)!r} has no rows in its first file: name one that has"))
        writer = _writer(path, raw, folder)
        if writer is not None:
            return FirstJob(writer.text(), writer.notes)
    assert raw is not None  # otherwise candidates() has raised
    columns = ", ".join(f"{field.name} {field.type}" for field in raw.rows.schema)
    message = f"has no column of times, only {columns:.500}: it needs text such as 2026-01-31 09:30:00, seconds since"
    message += " 1970, or numbers that rise; source.select can make such a column"
    parts = [name for name in raw.rows.column_names if is_part(name)]
    if parts:
        message += f"; {' and '.join(map(repr, parts))} is only part of a date: add the rest, as in"
        message += f" to_timestamp(concat('2026-01-', CAST({quoted(parts[0])} AS STRING)), 'yyyy-M-d') AS ts"
    raise ConfigError(Problem("path", f"{str(path)!r} {message}"))


def _writer(path: Path, raw: RawFiles, folder: Path | None) -> "_Writer | None":
    """The writer of the job; None where these rows have no known time."""
    if raw.source.format == "text":
        from skyband_jobs.first_job.log_lines import lines_of

        file = next((file for file in data_files(path) if file.is_file()), path)
        lines = lines_of(raw.rows, datetime.date.fromtimestamp(file.stat().st_mtime))
        if lines is None:
            return None
        source = evolve(raw.source, where=lines.where)
        raw = evolve(raw, source=source, notes=(*raw.notes, *lines.notes))
        return _shaped(path, raw, lines.columns, lines.times, folder)
    rows, columns = raw.rows, {name: quoted(name) for name in raw.rows.column_names}
    if raw.source.format == "json":
        from skyband_jobs.first_job.json_form import elements, leaf_columns

        rows = rows if raw.source.explode is None else elements(rows, raw.source.explode)
        columns = leaf_columns(rows.schema)
    times = times_in(rows, columns) or order_in(rows, columns)
    return None if times is None else _shaped(path, evolve(raw, rows=rows), columns, times, folder)


def _shaped(path: Path, raw: RawFiles, columns: dict[str, str], times: Times, folder: Path | None) -> "_Writer":
    """A writer with the columns as the job selects them, including the time."""
    import pyarrow as pa

    rows, is_plain = raw.rows, raw.rows.column_names == list(columns)
    if raw.source.where is not None:
        rows = rows.filter(value_of(raw.source.where, rows))
    if times.expression != columns.get(times.name):
        columns = {times.name: "", **columns} if times.name not in columns else columns
        columns = {name: times.expression if name == times.name else one for name, one in columns.items()}
    elif is_plain:
        columns = {}
    if columns and not is_plain:
        others = [name for name in columns if name != times.name][: _MOST_COLUMNS - 1]
        columns = {name: one for name, one in columns.items() if name == times.name or name in others}
    if columns:
        rows = pa.table({name: value_of(expression, rows) for name, expression in columns.items()})
    select = tuple(one if one == quoted(name) else f"{one} AS {quoted(name)}" for name, one in columns.items())
    ambiguous = f"; all of it can also be read as {times.other}: change it if that is meant" if times.other else ""
    looked = f"looked at {len(raw.rows):,} rows" + (", the first" if len(raw.rows) == ROWS else "")
    notes = (*raw.notes, f"times: {times.name}, {times.form}{ambiguous}", looked)
    return _Writer(path, evolve(raw.source, select=select or None), rows, times, notes, folder)


@frozen
class _Writer:
    """Writes a job's text from what is known of its source."""

    path: Path
    source: "Source"
    rows: "pa.Table"
    """The rows as the job selects them."""
    times: Times
    notes: tuple[str, ...]
    folder: Path | None
    """Where the job will be written; None where that is unknown."""

    def text(self) -> str:
        """The text of the job."""
        samples = self._samples()
        queries, broken = self._queries(samples)
        if not queries:
            names = ", ".join(self.rows.column_names)
            message = f"no installed query has a first question for its columns ({names:.500})"
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
        looked = f"# A first job for {self.path.name}, from {len(self.rows):,} of its rows:"
        doubts = [f"# Please check: {doubt}" for doubt in (*self.times.doubts, *self._order_doubts())]
        return "\n".join([looked, *(line.replace("\n", " ") for line in [*lines, *doubts])])

    def _order_doubts(self) -> "list[str]":
        if not self._is_unordered:
            return []
        order = "newest first" if self._falls else "not in the order of their times"
        return [f"rows are {order}: fine for a batch, but sort them before you set source.stream = true"]

    @property
    def _late(self) -> int:
        """The delay of the latest row, in microseconds."""
        import numpy as np

        moments = self.times.moments
        return int((np.maximum.accumulate(moments) - moments).max()) if len(moments) else 0

    @property
    def _covered(self) -> int:
        moments = self.times.moments
        return int(moments.max() - moments.min()) if len(moments) else 0

    @property
    def _falls(self) -> bool:
        import numpy as np

        steps = np.diff(self.times.moments)
        return int((steps < 0).sum()) > int((steps > 0).sum())

    @property
    def _is_unordered(self) -> bool:
        """Whether no delay would accept the rows in this order, except one as long as their whole time span."""
        return self._late > 0 and (self._falls or 2 * self._late > self._covered)

    def _description(self, column: "ColumnSample") -> str:
        import pyarrow.compute as pc

        nulls = f", {column.nulls:,} null" if column.nulls else ""
        if column.distinct == 0:
            return f"{column.type}{nulls}"
        ends = pc.min_max(self.rows.column(column.name)).as_py()
        lowest, highest = (f"{value!s:.40}".removesuffix("+00:00") for value in (ends["min"], ends["max"]))
        return f"{column.type}, {column.distinct:,} distinct from {lowest} to {highest}{nulls}"

    def _samples(self) -> "list[ColumnSample]":
        import pyarrow as pa
        import pyarrow.compute as pc
        from skyband.queries.first_query import ColumnSample

        samples = []
        for field, column in zip(self.rows.schema, self.rows.columns, strict=True):
            try:
                distinct = pc.count_distinct(column).as_py()
                pc.min_max(column)
            except pa.ArrowNotImplementedError:  # lists, structs and other types without an order
                distinct = 0
            samples.append(ColumnSample(field.name, field.type, distinct, column.null_count))
        return samples

    def _sample(self, samples: "list[ColumnSample]") -> "SourceSample":
        from skyband.queries.first_query import SourceSample

        late, covered = 0 if self._is_unordered else self._late, self._covered
        suited = [name for name, length in _LENGTHS.items() if covered >= _ANSWERS * length]
        delays = [name for name, length in _LENGTHS.items() if length >= late] or [f"{late // _SECOND + 1} seconds"]
        columns = tuple(one for one in samples if one.name != self.times.name)
        window = suited[-1] if suited else "1 second" if covered else "1 hour"
        if self.times.in_rows:
            window = f"{10 ** max(1, len(str(len(self.rows) // _ANSWERS)) - 1)} rows"
        return SourceSample(len(self.rows), self.times.name, window, delays[0] if late else "0 seconds", columns)

    def _queries(self, samples: "list[ColumnSample]") -> "tuple[list[tuple[str, str, Mapping[str, Any]]], list[str]]":
        """Kind, question and keys of each kind's first query; and a comment for each kind that fails."""
        from skyband.queries import kinds, load_query, make_query
        from skyband.queries.presentation import load_presentation
        from skyband.registry.module_import import cause

        sample, queries, broken = self._sample(samples), list[tuple[str, str, Mapping[str, Any]]](), list[str]()
        for kind in sorted(kinds()):
            try:
                first = load_presentation(load_query(kind)).first_query(sample)
                if first is None:
                    continue
                delay = {} if self.times.in_rows else {"delay": sample.delay}
                keys = {"time": sample.time, **first.keys, **delay}
                if problems := make_query({"kind": kind, **keys}).check(self.rows.schema):
                    raise ConfigError(*problems)
            except (Exception, SystemExit) as error:  # a plugin's code; the other kinds still work
                broken.append(f"# {kind} has no first query here: {' '.join(cause(error).split())}")
                continue
            queries.append((kind, first.question, keys))
        return queries, broken

    def _source(self) -> str:
        keys: dict[str, Any] = {"format": self.source.format, "path": self._place}
        keys |= {"schema": self.source.schema, "options": self.source.options, "explode": self.source.explode}
        keys |= {"where": self.source.where, "select": self.source.select}
        lines = [f"{name} = {_toml(value)}" for name, value in keys.items() if value]
        return "\n".join(["[source]", *lines])

    @property
    def _place(self) -> str:
        """The data's path for the job: relative if below the job's folder, else absolute."""
        place = self.path.absolute()
        beside = place.parent.resolve() / place.name
        if self.folder is not None and beside.is_relative_to(self.folder):
            return beside.relative_to(self.folder).as_posix()
        return place.as_posix()

    def _table(self, kind: str, question: str, keys: Mapping[str, Any], commented: bool) -> str:
        lines = ["[query]", f"kind = {_toml(kind)}", *(f"{name} = {_toml(value)}" for name, value in keys.items())]
        if commented:
            return "\n".join([f"# Or: {question}", *(f"# {line}" for line in lines)])
        return "\n".join([f"# {question[0].upper()}{question[1:]}", *lines])


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(entry)}" for name, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        entries = [*map(_toml, value)]
        if sum(map(len, entries)) < 100:
            return f"[{', '.join(entries)}]"
        return "[\n" + "".join(f"  {entry},\n" for entry in entries) + "]"
    return json.dumps(value, ensure_ascii=False)
