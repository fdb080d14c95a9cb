"""The moments at which rules answer, computed for all rules at once."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from attrs import asdict, evolve, frozen

from skyband.arrays import TIME_MAX, Int64


class Moments(NamedTuple):
    """Answers due, in order of (at, rule): int64[m] each. `rule` is a place in `Rules.names`."""

    at: Int64
    rule: Int64
    since: Int64
    k: Int64

    def with_rows(self, times: Int64) -> Iterator[tuple[int, int, range]]:
        """(start, stop, places): the rows at `times` before each moment since the last, and the answers due then.

        The last entry is the rows after all moments, with nothing due.
        """
        at, first = np.unique(self.at, return_index=True)
        begins, stops, start = [*first.tolist(), len(self.at)], np.searchsorted(times, at).tolist(), 0
        for begin, end, stop in zip(begins, begins[1:], stops, strict=False):
            yield start, stop, range(begin, end)
            start = stop
        yield start, len(times), range(0)

    def row(self, place: int) -> tuple[int, int, int, int]:
        """at, rule, since and k of the answer at a place."""
        return tuple(int(column[place]) for column in self)  # type: ignore[return-value]


@frozen(eq=False)
class InForce:
    """Versions with future moments, as arrays in order of rule: each answers later than `begin`, up to `end`."""

    rule: Int64
    """The place of each in `Rules.names`."""
    window: Int64
    slide: Int64
    k: Int64
    phase: Int64
    begin: Int64
    end: Int64

    def first_after(self, time: int | Int64) -> Int64:
        """int64[v]: the first moment of each later than `time`, one or int64[v]; TIME_MAX if there is none."""
        least = np.maximum(time, self.begin)
        reachable = least < TIME_MAX - self.slide
        least = np.where(reachable, least, 0)
        first = least + 1 + (self.phase - least - 1) % self.slide
        return np.where(reachable & (first <= self.end), first, TIME_MAX)

    @property
    def rate(self) -> float:
        """The most moments in a unit of time."""
        return float((1 / self.slide).sum())

    def pick(self, places: Int64) -> "InForce":
        """The versions at these places, ascending."""
        return evolve(self, **{name: column[places] for name, column in asdict(self, recurse=False).items()})

    def moments(self, begin: int, end: int) -> Moments:
        """The answers due later than `begin`, up to `end`."""
        at, place = self.due(begin, end)
        order = np.lexsort((place, at))
        at, place = at[order], place[order]
        return Moments(at, self.rule[place], at - self.window[place], self.k[place])

    def due(self, begin: int | Int64, end: int | Int64) -> tuple[Int64, Int64]:
        """int64[m] each: the moments due later than `begin`, up to `end`, and the place of each one's version.

        begin, end: one for all, or int64[v]. Ordered by place, then time.
        """
        first = self.first_after(begin)
        last = np.minimum(self.end, end)
        counts = np.where(first <= last, (last - np.where(first <= last, first, last)) // self.slide + 1, 0)
        place = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        return first[place] + number * self.slide[place], place


_NO_INTS = np.empty(0, np.int64)
NO_MOMENTS = Moments(_NO_INTS, _NO_INTS, _NO_INTS, _NO_INTS)
