"""Numbers and sequences of detections by their definition: core/docs/reference/queries/detections.md."""

import math
from collections.abc import Callable
from random import Random
from typing import Any

from .as_job import CONDITIONS
from .streams import Row, alike

NUMBERS = ("sum v", "mean v", "median of v", "p90 of v")


def number_of(measure: str, rows: list[Row], least: int) -> float:
    """A sum, mean or quantile of the numbers in `v`; below every bound if they are too few."""
    values = sorted(row["v"] + 0.0 for row in rows)  # one zero
    if measure == "sum v":
        return math.fsum(values)
    if len(values) < least:
        return -math.inf
    if measure == "mean v":
        return math.fsum(values) / len(values)
    return values[max(1, math.ceil(len(values) * (50 if "median" in measure else 90) / 100)) - 1]


def random_steps(random: Random) -> list[Any]:
    def step() -> Any:
        where = random.choice(list(CONDITIONS))
        if random.random() < 0.6:
            return where
        table: Row = {
            "where": where,
            "window": f"{random.choice((1, 3, 20))} seconds",
            "at_least": random.choice((1, 2)),
        }
        return table | {"measure": random.choice(("rows", "distinct v")), "tell": random.choice(("each", "crossing"))}

    return [step() for _ in range(random.choice((2, 2, 3)))]


def step_times(step: Any, own: list[Row]) -> list[int]:
    """The times at which a key, whose rows these are, takes a step, in order."""
    if isinstance(step, str):
        return sorted({row["ts"] for row in own if CONDITIONS[step](row) is True})
    own = [row for row in own if CONDITIONS[step["where"]](row) is True]
    own = own if step["measure"] == "rows" else [row for row in own if row["v"] is not None]
    size: Callable[[list[Row]], int] = len
    if step["measure"] != "rows":
        size = lambda rows: len({alike(row["v"]) for row in rows})  # noqa: E731
    span, bound, times = int(step["window"].split()[0]), step["at_least"], list[int]()
    for time in sorted({row["ts"] for row in own}):
        before = size([row for row in own if time - span < row["ts"] < time])
        after = size([row for row in own if time - span < row["ts"] <= time])
        if after >= bound and (before < bound or step["tell"] == "each"):
            times.append(time)
    return times


def shortest(times: list[list[int]], first: int, last: int, any_order: bool) -> int | None:
    """The latest begin of a sequence whose steps are later than `first` and not later than `last`; None if none is."""
    inside = [[time for time in own if first < time <= last] for own in times]
    if any_order:
        return min(own[-1] for own in inside) if all(inside) else None
    for begin in reversed(inside[0]):
        moment: int | None = begin
        for own in inside[1:]:
            moment = None if moment is None else next((time for time in own if time > moment), None)
        if moment is not None:
            return begin
    return None


def completions(rule: Row, own: list[Row]) -> list[tuple[int, int]]:
    """The times at which a sequence of one key is complete and counts, with the seconds that it took."""
    times, found = [step_times(step, own) for step in rule["steps"]], list[tuple[int, int]]()
    span, any_order = rule["window"], rule["any_order"]
    for time in sorted({moment for steps in times for moment in steps}):
        before = shortest(times, time - span, time - 1, any_order)
        ends = [*times[:-1], [time] if time in times[-1] else []]
        begin = shortest(times if any_order else ends, time - span, time, any_order)
        if begin is not None and (rule["each"] or before is None):
            found.append((time, time - begin))
    return found
