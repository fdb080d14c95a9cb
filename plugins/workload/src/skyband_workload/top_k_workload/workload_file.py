"""The queries of a workload as a user writes them: a list of tables, or a file with one in each row."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen
from skyband.config.calendar_lengths import CalendarLength, parse_length
from skyband.config.durations import Duration, parse
from skyband.config.literals import literal
from skyband.config.parameters import checked
from skyband.errors import Problem, suggest
from skyband.roles import TopKQuery

_MOST = 2**62
_NO_PHASE = Duration(0)
_CALENDAR = "cannot be a calendar unit, as windows of several lengths share rows: use top-k, or give a length"


@frozen
class NamedQuery:
    """A query of a workload: the best `k` of [T − window, T) at every T = phase + j·slide."""

    name: str
    window: Duration
    slide: Duration
    k: int
    phase: Duration = _NO_PHASE

    @property
    def definition(self) -> str:
        """The query without its name; equal for queries with the same answers."""
        window, slide, phase = self.window.length, self.slide.length, self.phase.length
        return f"top {self.k} of {window} every {slide} from {phase % slide}"

    @property
    def lengths(self) -> TopKQuery:
        """The query without name and unit, for backends."""
        return TopKQuery(self.window.length, self.slide.length, self.k, self.phase.length)


NO_QUERIES = "must be a list of tables with name, window, slide and k"


def named_queries(*, default: Any, help: str) -> Any:
    """The field of a query for a workload."""
    return checked(
        default, type="list of {name, window, slide, k[, phase]}, or a file", check=_wrong, help=help, converter=_read
    )


def _read(queries: Any) -> Any:
    """Convert the queries to NamedQuery; a wrong entry stays as it is, for the check to report."""
    if isinstance(queries, str | Path):
        queries = _from_file(Path(queries))
    if not isinstance(queries, Iterable) or isinstance(queries, Mapping):
        return queries
    return tuple(_entry(value) for value in queries)


def _from_file(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV or Parquet file. Raises ValueError if it cannot be read."""
    import pyarrow as pa

    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as parquet

            table = parquet.read_table(path, coerce_int96_timestamp_unit="us")
        else:
            from pyarrow import csv

            options = csv.ConvertOptions(column_types={"name": pa.string()}, strings_can_be_null=True)
            table = csv.read_csv(path, convert_options=options)
    except (OSError, pa.ArrowInvalid) as error:
        raise ValueError(f"the table {str(path)!r} cannot be read: {error}") from error
    return [{key: value for key, value in row.items() if value is not None} for row in table.to_pylist()]


def _entry(value: Any) -> Any:
    if isinstance(value, NamedQuery) or not isinstance(value, Mapping) or _faults(value):
        return value
    lengths = {name: parse(value[name]) for name in ("window", "slide", "phase") if name in value}
    return NamedQuery(name=value["name"], k=value["k"], **lengths)


def _wrong(value: Any) -> Sequence[Problem]:
    if not isinstance(value, tuple):
        return [Problem("", f"{NO_QUERIES} (got {literal(value)})")]
    problems = [
        Problem(f"[{number}]{'.' if key else ''}{key}", message)
        for number, entry in enumerate(value)
        for key, message in _faults(entry)
    ]
    return problems + _between(value)


def _faults(entry: Any) -> list[tuple[str, str]]:
    """The faults of a single entry, as (key, message)."""
    if isinstance(entry, NamedQuery):
        entry = attrs.asdict(entry, recurse=False)
    if not isinstance(entry, Mapping):
        return [("", f"must be a table with name, window, slide and k (got {literal(entry)})")]
    names = [field.name for field in attrs.fields(NamedQuery)]
    faults = [(key, f"unknown; {suggest(key, names)}") for key in entry if key not in names]
    faults += [(key, "is required") for key in names if key not in entry and key != "phase"]
    name, k = entry.get("name", "-"), entry.get("k", 1)
    if not isinstance(name, str) or not name:
        faults.append(("name", f"must be a name (got {literal(name)})"))
    if isinstance(k, bool) or not isinstance(k, int):
        faults.append(("k", f"must be a whole number (got {literal(k)})"))
    elif k < 1:
        faults.append(("k", f"must be at least 1 (got {k})"))
    elif k > _MOST:
        faults.append(("k", f"must be at most 2^62 (got {k})"))
    for key in ("window", "slide", "phase"):
        if key in entry:
            faults += [(key, message) for message in _length_faults(entry[key], 0 if key == "phase" else 1)]
    return faults


def _length_faults(value: Any, least: int) -> list[str]:
    try:
        length = parse(value)
    except ValueError as error:
        return [_CALENDAR] if _is_of_calendar(value) else [str(error)]
    if length.length < least:
        return [f"must be {'at least' if least == 0 else 'longer than'} 0 (got {length})"]
    return [f"must be shorter (got {length})"] if length.length > _MOST else []


def _is_of_calendar(value: Any) -> bool:
    try:
        return isinstance(parse_length(value), CalendarLength)
    except ValueError:
        return False


def _between(queries: Sequence[Any]) -> list[Problem]:
    """The problems between entries: a name used twice, or rows mixed with time."""
    tables = [attrs.asdict(entry, recurse=False) if isinstance(entry, NamedQuery) else entry for entry in queries]
    names = Counter(str(entry.get("name")) for entry in tables if isinstance(entry, Mapping))
    problems, rows = [], None
    for number, entry in enumerate(tables):
        if not isinstance(entry, Mapping):
            continue
        name = str(entry.get("name"))
        if names[name] > 1:
            problems.append(Problem(f"[{number}].name", f"{name!r} is used {names[name]} times"))
        for key in ("window", "slide", "phase"):
            if key not in entry or _length_faults(entry[key], 0):
                continue
            length = parse(entry[key])
            if key == "phase" and length == _NO_PHASE:
                continue
            rows = length.rows if rows is None else rows
            if length.rows != rows:
                unit = "rows" if rows else "time"
                message = f"must be in {unit}, like those before it (got {length})"
                problems.append(Problem(f"[{number}].{key}", message))
    return problems
