"""The query analyser: combines the queries of a workload into one meta query (thesis, chapters 3 and 4)."""

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from skyband.arrays import TIME_MIN, Int64
from skyband.roles import TopKQuery

FROM_THE_START = TIME_MIN


@frozen(eq=False)
class MetaQuery:
    """A workload as flat arrays, int64[q] each, for the scheduler and the executors.

    `since`: a query only answers over windows [T − window, T) with T − window >= since; FROM_THE_START for queries that
    existed before the first row.
    """

    window: Int64
    slide: Int64
    k: Int64
    phase: Int64
    since: Int64

    def __len__(self) -> int:
        return len(self.k)

    @property
    def largest_k(self) -> int:
        """The largest k of all queries."""
        return int(self.k.max())

    @property
    def longest_window(self) -> int:
        """The longest window of all queries."""
        return int(self.window.max())

    def alone(self, query: int) -> "MetaQuery":
        """The meta query of a single query."""
        part = slice(query, query + 1)
        return MetaQuery(self.window[part], self.slide[part], self.k[part], self.phase[part], self.since[part])


def analyse(queries: Sequence[TopKQuery], since: Int64 | None = None) -> MetaQuery:
    """The meta query of `queries`, which begin at `since` (int64[q]; by default from the start)."""
    columns = [np.array([getattr(query, name) for query in queries], np.int64) for name in _COLUMNS]
    window, slide, k, phase = columns
    if since is None:
        since = np.full(len(queries), FROM_THE_START)
    return MetaQuery(window, slide, k, phase % slide, since)


def carried_over(old: Sequence[TopKQuery], since: Int64, new: Sequence[TopKQuery], joined: int) -> tuple[Int64, Int64]:
    """For each of the `new` queries, the time since when it runs, and its number among the `old` (-1: it joins now).

    Queries with equal window, slide, k and phase modulo slide are the same; if there are several, the oldest counts.
    """
    running: dict[tuple[int, ...], int] = {}
    for number, query in enumerate(old):
        earlier = running.setdefault(_identity(query), number)
        if since[number] < since[earlier]:
            running[_identity(query)] = number
    origin = np.array([running.get(_identity(query), -1) for query in new], np.int64)
    return np.where(origin >= 0, since[origin], joined), origin


_COLUMNS = ("window", "slide", "k", "phase")


def _identity(query: TopKQuery) -> tuple[int, ...]:
    return query.window, query.slide, query.k, query.phase % query.slide
