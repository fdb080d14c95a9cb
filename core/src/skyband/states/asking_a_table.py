"""What `skyband ask` does: any windows of a table of states, its groups united as asked. Loads no numba."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from skyband.config.value_ranges import ValueRange
from skyband.errors import InputError, suggest
from skyband.states.compatibility import check_alike, common_coverage
from skyband.states.counting import estimate_of, estimate_since, range_asked
from skyband.states.coverage import Coverage
from skyband.states.heavy_hitters import ranked
from skyband.states.ranker_state import RankerState, check_together
from skyband.states.since_or_last import Asked, moment_named
from skyband.states.state import AnyState, State
from skyband.states.table import StatesTable


@frozen
class Row:
    """The answer of one group, or of several united, over one window."""

    group: Mapping[str, Any]
    """By grouping column its value; without those that were united."""
    window: str
    numbers: Mapping[str, Any]
    """Of a sketch count, low and high, and the range where one was asked for; of a ranker a row for each rank, with
    object, total, share, low and high."""


@frozen
class Answers:
    """What a table answers at one moment."""

    at: str
    """The moment, as a person reads it."""
    by: tuple[str, ...]
    rows: tuple[Row, ...]


def ask(
    path: str, lasts: Sequence[str] = (), at: str | None = None, by: Sequence[str] = (), united: bool = False,
    column: str = "state", k: int | None = None, ranges: Sequence[Any] = (),
) -> Answers:  # fmt: skip
    """The answers of the groups of a table at a moment: each by itself, by some columns, or all united.

    `at`: a moment of the table, the newest where it is None. `k`: objects in an answer of rankers. `ranges`: each the
    two ends of a range of values, of sketches that keep them. Raises InputError, naming the option, where a column, a
    moment or a window is not there, and SnapshotError, naming the group, where a state is damaged.
    """
    windows = [Asked.read(None, last) for last in lasts] or [Asked()]
    within = [range_asked(ends) for ends in ranges] or [None]
    table = StatesTable(path, column)
    for name in by:
        if name not in table.grouping:
            raise InputError("by", f"the states have no grouping column {name!r}; {suggest(name, table.grouping)}")
    chosen, held = table.as_of(None if at is None else moment_named("at", at))
    moment = _moment_of([each.state for each in held], chosen)
    named = list(by) if by else table.grouping
    parts: dict[tuple[Any, ...], list[AnyState]] = {}
    if by or not united:
        for each in held:
            parts.setdefault(tuple(each.group[name] for name in named), []).append(each.state)
    answered = [(dict(zip(named, key, strict=True)), parts[key]) for key in sorted(parts, key=lambda k: [*map(str, k)])]
    if united and (named or not parts):
        answered.append(({}, [each.state for each in held]))
    found = tuple(
        Row(group, str(window.last or moment.length), numbers)
        for group, states in answered
        for window in windows
        for numbers in _answers(states, window, moment, k, within)
    )
    return Answers(moment.show(moment.at), tuple(named) if parts else (), found)


def _answers(
    states: list[AnyState], window: Asked, moment: Coverage, k: int | None, within: Sequence[ValueRange | None]
) -> list[dict[str, Any]]:
    """Where only changed groups have states, each is as good as of the moment asked, as its group's newest."""
    since = window.within(moment, moment.since)
    rankers = [state for state in states if isinstance(state, RankerState)]
    sketches = [state for state in states if isinstance(state, State)]
    if rankers and sketches:
        check_alike(states)
    if rankers:
        if within != [None]:
            raise InputError("between", f"goes with states of sketches, and these are of rankers (got {within[0]})")
        if len(rankers) > 1:
            check_together(rankers)
            common_coverage(rankers)
        rows: list[dict[str, Any]] = ranked(rankers, since, k, None, "last").to_pylist()
        return rows
    if k is not None:
        raise InputError("k", f"goes with states of rankers, such as those of heavy-hitters (got {k})")
    return [_counted(sketches, since, between) for between in within]


def _counted(states: list[State], since: int, between: ValueRange | None) -> dict[str, Any]:
    if len(states) == 1:
        found = estimate_since(states[0], since, between)
    else:  # where the newest of them is older than the window, nothing is in it
        covers = common_coverage(states)
        found = estimate_of(states, Asked(since=since if covers is None else min(since, covers.at)), between)
    return found._asdict() if between is None else {"between": str(between), **found._asdict()}


def _moment_of(states: Sequence[AnyState], chosen: int) -> Coverage:
    covers = [state.covers for state in states if state.covers is not None]
    length = min(each.at - each.since for each in covers)
    return Coverage(chosen, chosen - length, covers[0].rows, covers[0].changed)
