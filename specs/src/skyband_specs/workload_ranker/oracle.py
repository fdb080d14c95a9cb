"""The answers of a workload of top-k queries and the rows it must remember, by definition."""

from bisect import bisect_left
from collections.abc import Sequence
from operator import itemgetter

from attrs import field, frozen
from skyband.roles import TopKQuery

Row = tuple[int, int, float]
"""(time, object, score); a row's place in its list is its arrival, and times do not go back."""

SmallGroupAnswers = tuple[int, int, tuple[int, ...], tuple[float, ...]]
"""(at, query, objects, scores)"""

ALWAYS = -(2**64)
"""Before every window."""


@frozen
class Workload:
    """Queries, and since when each runs: it answers only over windows that start at `since` or later.

    With `repeats = "best"` an object is in an answer once, with its best row, the latest of equal ones.
    """

    queries: Sequence[TopKQuery]
    since: Sequence[int] = field()
    repeats: str = "each"

    @since.default
    def _from_the_start(self) -> Sequence[int]:
        return [ALWAYS] * len(self.queries)


def answers(workload: Workload, rows: Sequence[Row], after: int, until: int) -> list[SmallGroupAnswers]:
    """Every answer with after < at <= until, in order of (at, query), given all rows before each moment."""
    ranking = []
    for number, (query, since) in enumerate(zip(workload.queries, workload.since, strict=True)):
        for at in moments(query, after, until):
            if at - query.window >= since:
                best = top(rows, at - query.window, at, query.k, workload.repeats)
                objects = tuple(rows[arrival][1] for arrival in best)
                ranking.append((at, number, objects, tuple(rows[arrival][2] for arrival in best)))
    return sorted(ranking, key=lambda answer: answer[:2])


def moments(query: TopKQuery, after: int, until: int) -> range:
    """The moments T = phase + j·slide with after < T <= until."""
    first = after + 1 + (query.phase - after - 1) % query.slide
    return range(first, until + 1, query.slide)


def top(rows: Sequence[Row], start: int, end: int, k: int, repeats: str = "each") -> list[int]:
    """The arrivals of the best k rows with start <= time < end: score descending, object ascending, then arrival.

    With `repeats = "best"` only the best row of each object, the latest of equal ones.
    """
    first, last = (bisect_left(rows, moment, key=itemgetter(0)) for moment in (start, end))
    inside = list(range(first, last))
    if repeats == "best":
        latest = sorted(inside, key=lambda arrival: (rows[arrival][2], arrival))
        inside = list({rows[arrival][1]: arrival for arrival in latest}.values())
    return sorted(inside, key=lambda arrival: (-rows[arrival][2], rows[arrival][1], arrival))[:k]


def retained(workload: Workload, rows: Sequence[Row], now: int) -> set[int]:
    """The arrivals of the smallest set that can answer every moment after `now`, whatever arrives.

    The union over the views, the starts s of windows not yet answered, of the top K(s) of the rows since s, where K(s)
    is the largest k of the queries that will answer over that window.
    """
    largest: dict[int, int] = {}
    for query, since in zip(workload.queries, workload.since, strict=True):
        latest = max((time for time, _, _ in rows), default=now)
        for at in moments(query, now, latest + query.window):
            if at - query.window >= since:
                largest[at - query.window] = max(largest.get(at - query.window, 0), query.k)
    everything = max((time for time, _, _ in rows), default=0) + 1
    return {arrival for start, k in largest.items() for arrival in top(rows, start, everything, k, workload.repeats)}
