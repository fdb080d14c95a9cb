"""A feature as a user writes it: a table that names an aggregate, a column, windows and a condition."""

from _thread import get_ident
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import pyarrow as pa
from attrs import field, frozen
from skyband.config.durations import MOST, Duration, parse
from skyband.config.literals import literal
from skyband.config.parameters import build, checked
from skyband.errors import ConfigError, PluginError, Problem, suggest
from skyband.registry import Binding, installed
from skyband_expressions.row_conditions import condition_problem

from skyband_totals.row_aggregates.counts import Count, Distinct
from skyband_totals.row_aggregates.numbers import Sum
from skyband_totals.row_aggregates.role import CONDITION, ROWS, RowAggregate
from skyband_totals.row_aggregates.storages import Storage, storage_of

ROLE = "row-aggregate"
_SHORT: Mapping[str, type[RowAggregate]] = {"count": Count, "sum": Sum, "distinct": Distinct}
"""The aggregates of the short forms."""
KEYS = ("of", "column", "where", "windows", "name", "distribution")
"""The keys of a feature; others are parameters of its aggregate."""
_WRONG = 'must be a list of tables, such as [{ of = "max", column = "paid" }]'
_OF = {
    "avg": '"mean"',
    "average": '"mean"',
    "stddev": '"std"',
    "stdev": '"std"',
    "var": '"variance"',
    "nunique": '"distinct"',
    "count_distinct": '"distinct"',
    "since_last": '"since-last"',
    "median": '"quantile", q = 0.5',
    "percentile": '"quantile", q = 0.95',
}
"""Names that other tools use."""


@frozen(repr=False)
class Feature:
    """An aggregate of a column over some windows, each a column of the answers."""

    of: str
    name: str
    binding: Binding | None = field(eq=False)
    """Its aggregate; None for one of `_SHORT`, which needs no registry where it runs."""
    column: str | None = None
    where: str | None = None
    windows: tuple[Duration, ...] = ()
    """Its lengths; none: those of the query."""
    parameters: tuple[tuple[str, Any], ...] = ()
    distribution: str | None = None
    """The one that brings its aggregate, where the user names it."""

    def to_dict(self) -> dict[str, Any]:
        """The table that a user would write, from which an equal one is made."""
        names = ("of", "name", "column", "where", "distribution")
        values = {key: getattr(self, key) for key in names if getattr(self, key) is not None}
        windows = {"windows": [str(window) for window in self.windows]} if self.windows else {}
        return {**values, **windows, **dict(self.parameters)}

    def __repr__(self) -> str:
        """Equal for equal features."""
        values = {key: getattr(self, key) for key in ("of", "name", "column", "where") if getattr(self, key)}
        return f"{values | {'windows': [str(window) for window in self.windows]} | dict(self.parameters)}"

    def aggregate(self, unit: float | None) -> RowAggregate:
        """Its aggregate, which has the query's unit if it takes one and names none. It has no rows, and gets none.

        One for each thread, since a backend is used by one at a time; do not keep it.
        """
        return _aggregate(self._class, self.parameters, unit, get_ident())

    def new_aggregate(self, unit: float | None) -> RowAggregate:
        """The same, to be kept."""
        return _new_aggregate(self._class, self.parameters, unit)

    @property
    def _class(self) -> type[RowAggregate]:
        return _SHORT[self.of] if self.binding is None else cast(type[RowAggregate], self.binding.backend_class)

    def storage(self, kind: pa.DataType, unit: float | None) -> Storage | None:
        """How its column, of this type, is kept; None if only times are."""
        aggregate = self.aggregate(unit)
        if self.column is None or aggregate.keeps in (ROWS, CONDITION):
            return None
        return storage_of(aggregate.keeps, kind, aggregate.multiple)

    def columns(self, windows: Sequence[Duration]) -> list[str]:
        """The names of its columns in the answers, one for each of its windows, or else of these."""
        return [f"{self.name}_{window}".replace(" ", "_") for window in self.windows or windows]


def feature_of(of: str, column: str | None, name: str) -> Feature:
    """A feature without further keys."""
    return Feature(of, name, None, column)


def features_parameter(*, help: str) -> Any:
    """The field of a query for its features."""
    return checked((), type="list of features", check=_wrong, help=help, converter=_as_features, kw_only=True)


def _as_features(features: Any) -> Any:
    """Convert tables to Feature; a wrong one stays as it is, for the check to report."""
    if not isinstance(features, Iterable) or isinstance(features, Mapping | str):
        return features
    return tuple(table if _faults(table) else _feature(table) for table in features)


def _feature(table: Any) -> Feature:
    if isinstance(table, Feature):
        return table
    values = {key: value for key, value in table.items() if value is not None}
    parameters = {key: value for key, value in values.items() if key not in KEYS}
    binding = installed().bind(ROLE, values["of"], values.get("distribution"), **parameters)
    plain = values["of"].replace("-", "_")
    name = values.get("name") or (f"{values['column']}_{plain}" if "column" in values else plain)
    windows = tuple(parse(window) for window in values.get("windows", ()))
    return Feature(
        values["of"],
        name,
        binding,
        values.get("column"),
        values.get("where"),
        windows,
        tuple(sorted(parameters.items())),
        values.get("distribution"),
    )


def _wrong(value: Any) -> Sequence[Problem]:
    if not isinstance(value, tuple):
        return [Problem("", f"{_WRONG} (got {literal(value)})")]
    return [
        Problem(f"[{number}]{'.' if key else ''}{key}", message)
        for number, table in enumerate(value)
        for key, message in _faults(table)
    ]


def _faults(table: Any) -> list[tuple[str, str]]:
    """What is wrong with one feature, as (key, message)."""
    if isinstance(table, Feature):
        return []
    if not isinstance(table, Mapping):
        return [("", f'must be a table such as {{ of = "max", column = "paid" }} (got {literal(table)})')]
    values = {key: value for key, value in table.items() if value is not None}
    faults = [
        (key, f"must be a name (got {literal(values[key])})")
        for key in ("column", "name", "distribution")
        if key in values and not (isinstance(values[key], str) and values[key])
    ]
    condition = condition_problem(values["where"]) if "where" in values else None
    faults += [] if condition is None else [("where", condition)]
    faults += _window_faults(values["windows"]) if "windows" in values else []
    of = values.get("of")
    if not isinstance(of, str):
        every = ", ".join(info.name for info in installed().backends(ROLE))
        return [*faults, ("of", f"must be the name of an aggregate: {every} (got {literal(of)})")]
    return faults + (_aggregate_faults(of, values) if not faults else [])


def _window_faults(windows: Any) -> list[tuple[str, str]]:
    if not isinstance(windows, list | tuple) or not windows:
        return [("windows", f'must be a list of lengths, such as ["1 hour"] (got {literal(windows)})')]
    faults, earlier = [], list[Any]()
    for number, window in enumerate(windows):
        try:
            length = parse(window)
        except ValueError as error:
            faults.append((f"windows[{number}]", str(error)))
            continue
        if length.rows or not 1 <= length.length <= MOST:
            faults.append((f"windows[{number}]", f"must be a length of time (got {length})"))
        elif length in earlier:
            faults.append((f"windows[{number}]", f"is listed twice (got {length})"))
        earlier.append(length)
    return faults


def _aggregate_faults(of: str, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with the aggregate's name, its parameters, or what it is asked about."""
    if of in _OF:
        return [("of", f"is not an aggregate here: use of = {_OF[of]} (got {of!r})")]
    parameters = {key: value for key, value in values.items() if key not in KEYS}
    try:
        names = [info.name for info in installed().backends(ROLE)]
        if of not in names:
            return [("of", f"unknown aggregate {of!r}; {suggest(of, names)}")]
        cls = cast(type[RowAggregate], installed().bind(ROLE, of, values.get("distribution")).backend_class)
        keeps = build(cls, parameters).keeps
    except ConfigError as error:
        return [("of" if problem.field == ROLE else problem.field, problem.message) for problem in error.problems]
    except PluginError as error:
        return [("of", str(error))]
    if keeps == CONDITION and ("where" not in values or "column" in values):
        return [("where", f"is required by {of!r}, which takes no column: the condition whose share it is")]
    if keeps not in (ROWS, CONDITION) and "column" not in values:
        return [("column", f"is required: what is {of!r} of?")]
    return []


@lru_cache(maxsize=512)
def _aggregate(
    cls: type[RowAggregate], parameters: tuple[tuple[str, Any], ...], unit: float | None, _thread: int
) -> RowAggregate:
    return _new_aggregate(cls, parameters, unit)


def _new_aggregate(
    cls: type[RowAggregate], parameters: tuple[tuple[str, Any], ...], unit: float | None
) -> RowAggregate:
    own = dict(parameters)
    if unit is not None and "unit" not in own and hasattr(cls, "unit"):
        own["unit"] = unit
    return build(cls, own)


def name_clashes(columns: Sequence[tuple[str, str]]) -> list[Problem]:
    """Problems of columns of answers, each with the key that makes it, that have one name."""
    counts = Counter(name for name, _ in columns)
    first = dict(reversed(columns))
    return [
        Problem(f"{key}.name", f"{name!r} is also made by {first[name]}: give this one another name")
        for name, key in columns
        if counts[name] > 1 and first[name] != key
    ]
