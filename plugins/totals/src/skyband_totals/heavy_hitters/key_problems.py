"""What of the keys of heavy-hitters that change its ranking does not go together."""

from collections.abc import Mapping
from typing import Protocol

from skyband.config.calendar_lengths import Length
from skyband.config.durations import Duration
from skyband.config.literals import literal
from skyband.errors import Problem
from skyband.queries.composite_ids import Columns, several
from skyband.rules.longest_window import limit_problems
from skyband.windows.half_lives import half_life_problems
from skyband.windows.previous_windows import only_with_against, previous_problems

from skyband_totals.heavy_hitters.movers import BOTH, DIFFERENCE


class RankingKeys(Protocol):
    """The keys of a query that are looked at here."""

    windows: tuple[Length, ...]
    every: Length
    total: str
    share: float | None
    part: str | None
    rest: bool
    emit: str | None
    against: str | None
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
    carry: tuple[str, ...]
    empty: str | None

    @property
    def lengths(self) -> Mapping[str, Length]:
        """`every` and the windows, by their keys."""
        ...

    @property
    def rows(self) -> bool:
        """Whether windows are in rows."""
        ...


def rule_problems(query: RankingKeys) -> list[Problem]:
    """What `longest` and `most` do not go with."""
    if query.longest is None:
        return [] if query.most is None else [Problem("longest", "is required: `most` goes with it")]
    names = ("emit", "empty", "part", "against", "half_life")
    others = {name: getattr(query, name) for name in names} | {"rest": query.rest or None}
    problems = limit_problems(query.longest, query.lengths, query.offset, others)
    if problems:
        return problems
    steps = {**{name: length for name, length in query.lengths.items() if name != "every"}, "longest": query.longest}
    for name, length in steps.items():
        if length.length % query.every.length:
            message = f"must be a multiple of every = {str(query.every)!r}, the steps in which the state is kept"
            problems.append(Problem(name, f"{message} (got {length})"))
    if query.most is not None and query.k is not None and query.k > query.most:
        problems.append(Problem("k", f"must be at most most = {query.most} (got {query.k})"))
    if query.most is not None and query.k is None and query.windows:
        problems.append(Problem("k", "is required: that of `windows`, where rules have one of their own"))
    return problems


def amount_problems(query: RankingKeys) -> list[Problem]:
    """Which columns `total` needs, and which go with another."""
    problems = []
    for name, column, total in (("weight", query.weight, "sum"), ("value", query.value, "distinct")):
        if column is None and query.total == total:
            problems.append(Problem(name, f"is required with total = {total!r}: the name of a column"))
        if column is not None and query.total != total:
            message = f"goes with total = {total!r} only: add that, or drop this (got {literal(column)})"
            problems.append(Problem(name, message))
    if query.unit != 1.0 and query.total != "sum" and query.weight is None:
        message = f"goes with total = 'sum' only: add that, or drop this (got {query.unit:g})"
        problems.append(Problem("unit", message))
    return problems


def state_problems(query: RankingKeys) -> list[Problem]:
    """What is in no state that `emit` gives."""
    if query.emit is None:
        return []
    problems = []
    if several(query.object):
        message = "goes with one column `object`: make one of them with source.select, or drop `emit`"
        problems.append(Problem("object", f"{message} (got {', '.join(several(query.object))})"))
    if query.carry:
        problems.append(Problem("carry", "is no part of a state: drop this, or `emit`"))
    return problems


def rest_problems(query: RankingKeys) -> list[Problem]:
    """What the row of all other objects does not go with, and what goes with it alone."""
    problems = []
    if query.empty is not None and not query.rest:
        message = "goes with `rest`, whose row of a window in which nothing came is 0: add that, or drop this"
        problems.append(Problem("empty", f"{message} (got {literal(query.empty)})"))
    if query.emit is not None and query.rest:
        problems.append(Problem("rest", "is no part of a state: drop this, or `emit`"))
    return problems


def part_problems(query: RankingKeys) -> list[Problem]:
    """What `part` does not go with."""
    if query.part is None:
        return []
    if query.emit is not None:
        return [Problem("part", "is no part of a state: drop this, or `emit`")]
    if query.rest:
        return [Problem("rest", "goes with totals, and `part` ranks by a part of them: drop one of the two")]
    if query.rows and query.total == "distinct":
        message = 'with total = "distinct" goes with windows in time: give these, or count rows'
        return [Problem("part", f"{message} (got {literal(query.part)})")]
    return []


def against_problems(query: RankingKeys, windows: Mapping[str, Length]) -> list[Problem]:
    """What `against` does not go with, the windows by their keys, and what goes with it alone."""
    if query.against is None:
        return only_with_against({"rank_by": (query.rank_by, DIFFERENCE), "direction": (query.direction, BOTH)})
    problems = previous_problems(windows)
    remedies = {
        "share": "is of one window, and `against` compares two: give at_least, k, or both, or drop one of these",
        "part": "ranks by a part of one total, and `against` by two totals: drop one of the two",
        "rest": "is of one window, and `against` compares two: drop one of the two",
        "emit": "gives states, which answer since any moment, and `against` compares answers: drop one of the two",
    }
    problems += [Problem(key, text) for key, text in remedies.items() if getattr(query, key) not in (None, False)]
    if query.total == "distinct":
        message = "counts a value once that is in both windows, so that they do not subtract: rank by rows or a sum"
        problems.append(Problem("total", f"{message}, or drop `against` (got {literal(query.total)})"))
    return problems


def decay_problems(query: RankingKeys) -> list[Problem]:
    """What `half_life` does not go with."""
    if query.half_life is None:
        return []
    problems = half_life_problems(query.half_life, query.rows, query.every, *query.windows)
    if query.total == "distinct":
        message = "counts values, which weigh nothing: rank by rows or a sum, or drop `half_life`"
        problems.append(Problem("total", f"{message} (got {literal(query.total)})"))
    remedies = {
        "share": "is of whole totals: give at_least, k, or both, or drop one of this and `half_life`",
        "part": "divides whole totals: drop one of this and `half_life`",
        "rest": "is of whole totals: drop one of this and `half_life`",
        "against": "subtracts whole totals: drop one of this and `half_life`",
        "emit": "gives states of whole totals: drop one of this and `half_life`",
    }
    return [
        *problems,
        *(Problem(key, text) for key, text in remedies.items() if getattr(query, key) not in (None, False)),
    ]
