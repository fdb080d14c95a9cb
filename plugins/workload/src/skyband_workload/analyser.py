"""The query analyser: turns the queries of a workload into one meta query (thesis, chapters 3 and 4)."""

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from skyband.arrays import TIME_MIN, Int64
from skyband.roles import TopKQuery

FROM_THE_START = TIME_MIN


@frozen(eq=False)
class MetaQuery:
    """A workload as flat arrays, int64[q] each: what the scheduler and the executors work from.

    `since`: a query answers only over windows [T − window, T) with T − window >= since; FROM_THE_START for those
    that were there before the first row.
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
        """The k that serves every query."""
        return int(self.k.max())

    @property
    def longest_window(self) -> int:
        """How far back the meta query looks."""
        return int(self.window.max())

    def alone(self, query: int) -> "MetaQuery":
        """The meta query of one query."""
        one = slice(query, query + 1)
        return MetaQuery(self.window[one], self.slide[one], self.k[one], self.phase[one], self.since[one])


def analyse(queries: Sequence[TopKQuery], since: Int64 | None = None) -> MetaQuery:
    """The meta query of `queries`, which begin at `since` (int64[q]; without it, from the start)."""
    columns = [np.array([getattr(query, name) for query in queries], np.int64) for name in _COLUMNS]
    window, slide, k, phase = columns
    if since is None:
        since = np.full(len(queries), FROM_THE_START)
    return MetaQuery(window, slide, k, phase % slide, since)


def carried_over(old: Sequence[TopKQuery], since: Int64, new: Sequence[TopKQuery], joined: int) -> tuple[Int64, Int64]:
    """For each of the `new` queries, since when it runs and which of the `old` it is (-1: none, it joins now).

    Queries are the same when window, slide, k and phase modulo slide are; among several, the longest running counts.
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
