"""Finds problems between the keys of heavy-hitters that change its ranking."""

from collections.abc import Mapping
from typing import Any, Protocol

from skyband.config.calendar_lengths import Length
from skyband.config.durations import Duration
from skyband.config.literals import literal
from skyband.config.parameters import checked
from skyband.errors import Problem
from skyband.queries.composite_ids import Columns, several
from skyband.rules.query_with_rules import limit_problems
from skyband.windows.half_lives import half_life_problems
from skyband.windows.window_parameters import PREVIOUS, lag_problems, previous_problems

from skyband_totals.heavy_hitters.movers import BOTH, DIFFERENCE
from skyband_totals.heavy_hitters.variation import TOTAL_VARIATION


class RankingKeys(Protocol):
    """The keys of a query that are checked here."""

    windows: tuple[Length, ...]
    every: Length
    total: str
    share: float | None
    part: str | None
    rest: bool
    emit: str | None
    against: Any
    distance: tuple[str, ...]
    rank_by: str
    direction: str
    half_life: Duration | None
    longest: Duration | None
    most: int | None
    k: int | None
    offset: Duration
    object: Columns
    weight: str | None
    value: str | None
    unit: float
    at_least: float | None
    carry: tuple[str, ...]
    empty: str | None

    @property
    def remembers(self) -> bool:
        """Whether totals are remembered when a window ends."""
        ...

    @property
    def lengths(self) -> Mapping[str, Length]:
        """`every` and the windows, by their keys."""
        ...

    @property
    def rows(self) -> bool:
        """Whether windows are in rows."""
        ...


def rule_problems(query: RankingKeys) -> list[Problem]:
    """Problems of `longest` and `most`."""
    if query.longest is None:
        return [] if query.most is None else [Problem("longest", "is required with `most`")]
    names = ("emit", "empty", "part", "against", "half_life")
    others = {name: getattr(query, name) for name in names}
    others |= {"rest": query.rest or None, "distance": query.distance or None}
    problems = limit_problems(query.longest, query.lengths, query.offset, others)
    if problems:
        return problems
    steps = {**{name: length for name, length in query.lengths.items() if name != "every"}, "longest": query.longest}
    for name, length in steps.items():
        if length.length % query.every.length:
            message = f"must be a multiple of every = {str(query.every)!r}, the step in which the state is kept"
            problems.append(Problem(name, f"{message} (got {length})"))
    if query.most is not None and query.k is not None and query.k > query.most:
        problems.append(Problem("k", f"must be at most most = {query.most} (got {query.k})"))
    if query.most is not None and query.k is None and query.windows:
        problems.append(Problem("k", "is required for `windows`: rules have their own"))
    return problems


def amount_problems(query: RankingKeys) -> list[Problem]:
    """Problems of `weight`, `value` and `unit` with `total`."""
    problems = []
    for name, column, total in (("weight", query.weight, "sum"), ("value", query.value, "distinct")):
        if column is None and query.total == total:
            problems.append(Problem(name, f"is required with total = {total!r}: the name of a column"))
        if column is not None and query.total != total:
            message = f"requires total = {total!r}: add that, or remove this (got {literal(column)})"
            problems.append(Problem(name, message))
    if query.unit != 1.0 and query.total != "sum" and query.weight is None:
        message = f"requires total = 'sum': add that, or remove this (got {query.unit:g})"
        problems.append(Problem("unit", message))
    return problems


def state_problems(query: RankingKeys) -> list[Problem]:
    """Problems of keys that states do not support."""
    if query.emit is None:
        return []
    problems = []
    if several(query.object):
        message = "must be one column with `emit`: make one of them with source.select, or drop `emit`"
        problems.append(Problem("object", f"{message} (got {', '.join(several(query.object))})"))
    if query.carry:
        problems.append(Problem("carry", "is not part of a state: drop this, or `emit`"))
    return problems


def rest_problems(query: RankingKeys) -> list[Problem]:
    """Problems of `rest`, and of `empty`, which requires it."""
    problems = []
    if query.empty is not None and not query.rest:
        message = "requires `rest`, whose row is 0 for an empty window: add that, or remove this"
        problems.append(Problem("empty", f"{message} (got {literal(query.empty)})"))
    if query.emit is not None and query.rest:
        problems.append(Problem("rest", "is not part of a state: drop this, or `emit`"))
    return problems


def part_problems(query: RankingKeys) -> list[Problem]:
    """Problems of `part`."""
    if query.part is None:
        return []
    if query.emit is not None:
        return [Problem("part", "is not part of a state: drop this, or `emit`")]
    if query.rest:
        return [Problem("rest", "needs totals, but `part` ranks by a part of them: remove one of the two")]
    if query.rows and query.total == "distinct":
        message = 'with total = "distinct" requires windows in time: use these, or count rows'
        return [Problem("part", f"{message} (got {literal(query.part)})")]
    return []


def distance_parameter() -> Any:
    """The field `distance`."""
    return checked(
        (),
        type="list of str",
        check=_check_distance,
        kw_only=True,
        converter=lambda value: tuple(value) if isinstance(value, list) else value,
        bounds=TOTAL_VARIATION,
        help="with `against`, how far apart the shares of all objects are in the two windows, instead of the objects",
    )


def _check_distance(value: Any) -> str | None:
    if value in ((), (TOTAL_VARIATION,)):
        return None
    message = f'must be ["{TOTAL_VARIATION}"], half the sum of the changes of all shares'
    return f"{message}; for distances of numbers use the query quantiles (got {literal(value)})"


def against_problems(query: RankingKeys, windows: Mapping[str, Length]) -> list[Problem]:
    """Problems of `against`, with the windows by their keys, and of keys that require it."""
    if query.against is None:
        only = {"rank_by": (query.rank_by, DIFFERENCE), "direction": (query.direction, BOTH)}
        return _only_with_against(only | {"distance": (query.distance, ())})
    problems = lag_problems(query.against, query.every, windows) if query.remembers else previous_problems(windows)
    remedies = {
        "share": "is for one window, but `against` compares two: set at_least, k, or both, or remove one of these",
        "part": "ranks by a part of one total, but `against` by two totals: remove one of the two",
        "rest": "is for one window, but `against` compares two: remove one of the two",
        "emit": "returns states instead of the answers that `against` compares: remove one of the two",
    }
    problems += [Problem(key, text) for key, text in remedies.items() if getattr(query, key) not in (None, False)]
    if query.distance:
        others = {"k": None, "at_least": None, "rank_by": DIFFERENCE, "direction": BOTH, "carry": (), "empty": None}
        message = "is about objects, but `distance` compares the shares of all: remove it, or use another query for it"
        problems += [
            Problem(key, f"{message} (got {literal(getattr(query, key))})")
            for key, default in others.items()
            if getattr(query, key) != default
        ]
    if query.total == "distinct" and query.against == PREVIOUS and not query.distance:
        message = "counts a value in both windows only once, so they cannot be subtracted: rank by rows or a sum, "
        message += f'or write the length instead of "{PREVIOUS}", such as against = "{next(iter(windows.values()))}"'
        problems.append(Problem("total", f"{message} (got {literal(query.total)})"))
    return problems


def decay_problems(query: RankingKeys) -> list[Problem]:
    """Problems of `half_life`."""
    if query.half_life is None:
        return []
    problems = half_life_problems(query.half_life, query.rows, query.every, *query.windows)
    if query.total == "distinct":
        message = "counts values, which have no weight: rank by rows or a sum, or drop `half_life`"
        problems.append(Problem("total", f"{message} (got {literal(query.total)})"))
    remedies = {
        "share": "needs totals without decay: set at_least, k, or both, or remove this or `half_life`",
        "part": "divides totals without decay: drop this or `half_life`",
        "rest": "needs totals without decay: drop this or `half_life`",
        "against": "subtracts totals without decay: drop this or `half_life`",
        "emit": "returns states of totals without decay: drop this or `half_life`",
    }
    problems += [Problem(key, text) for key, text in remedies.items() if getattr(query, key) not in (None, False)]
    return problems


def _only_with_against(values: Mapping[str, tuple[object, object]]) -> list[Problem]:
    """Problems of keys about the comparison, given with their values and defaults, that are set without `against`."""
    message = 'needs `against`: add against = "previous" or "7 days", or remove this key'
    return [
        Problem(key, f"{message} (got {literal(value)})")
        for key, (value, default) in values.items()
        if value != default
    ]
