"""Thousands of tuples of up to a hundred samples, compared with all pairs of samples at once."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Float64

from skyband_specs.driver import Case, Trial
from skyband_specs.matcher.streams import MatcherStream, stream_of

PROBES = 12
FEW = 100
TIMES = 30
"""How often each probe occurs in one call if few tuples are kept, so that a call has hundreds."""


@frozen(eq=False)
class MatcherTrial(Trial):
    """Matches of a few probes with all tuples kept."""

    held: int

    @property
    def stops(self) -> Sequence[int]:
        """Early, in the middle and at the end."""
        return [len(self.stream) // 9, len(self.stream) // 2, len(self.stream)]

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """One append, and an eviction down to `held`."""
        backend.append(*self.stream.flat(start, stop))
        backend.evict(max(backend.start, backend.end - self.held))

    def answers(self, backend: Any, stop: int) -> Any:
        """Bounds, then all matches of the probes."""
        rows, times = self._probes(stop), TIMES if self.held < FEW else 1
        tuples = self.stream.take(np.tile(rows, times))
        probes, positions, chances = backend.match_all(*tuples.flat(0, len(tuples)))
        parts = np.split(np.arange(len(probes)), np.searchsorted(probes, np.arange(1, times) * len(rows)))
        turns = [(probes[part] - turn * len(rows), positions[part], chances[part]) for turn, part in enumerate(parts)]
        turns = [tuple(column.tolist() for column in turn) for turn in turns]
        differs = next((turn for turn in turns if turn != turns[0]), turns[0])
        return [backend.start, backend.end, *differs]

    def by_definition(self, stop: int) -> Any:
        """The same, bit for bit: the products within epsilon, added in the role's order."""
        first = max(0, stop - self.held)
        window = [self._sorted(row) for row in range(first, stop)]
        epsilon, beta = self.parameters["epsilon"], self.parameters["beta"] or 0.0
        matches = []
        for number, row in enumerate(self._probes(stop).tolist()):
            probe = self._sorted(row)
            sums = [_sum(probe, other, epsilon) for other in window]
            matches += [(number, first + at, s) for at, s in enumerate(sums) if s > 0.0 and s >= beta]
        return (
            [first, stop, *(list(column) for column in zip(*matches, strict=True))]
            if matches
            else [first, stop, [], [], []]
        )

    def _sorted(self, row: int) -> tuple[Float64, Float64]:
        values, shares = self.stream.values[row], self.stream.probabilities[row]
        order = np.lexsort((shares, values))
        return values[order], shares[order]

    def _probes(self, stop: int) -> Any:
        return np.unique(np.linspace(0, stop - 1, PROBES).astype(np.int64))


def single(seed: int, rows: int) -> MatcherStream:
    """Very many tuples of one sample."""
    values, shares = np.random.default_rng([31, seed]).random((2, rows, 1))
    return MatcherStream(tuple(values), tuple(shares))


def _sum(probe: tuple[Float64, Float64], other: tuple[Float64, Float64], epsilon: float) -> float:
    near = np.abs(probe[0][:, None] - other[0]) <= epsilon
    products = np.where(near, probe[1][:, None] * other[1], 0.0)
    return float(np.cumsum(products)[-1]) if products.size else 0.0


def trials(case: Case) -> Iterator[MatcherTrial]:
    """Many tuples of few samples, few of many, and many with nearly all pairs within epsilon."""
    return iter(_trials(4 if case.long else 1))


@cache
def _trials(more: int) -> list[MatcherTrial]:
    return [
        MatcherTrial("many tuples", {"epsilon": 0.05, "beta": None}, tuples(1, 3000 * more, 1, 8), 2500 * more),
        MatcherTrial("many samples", {"epsilon": 0.3, "beta": 0.2}, tuples(2, 120 * more, 30, 130), 110 * more),
        MatcherTrial("for long", {"epsilon": 0.1, "beta": None}, single(4, 70_000 * more), 50),
        MatcherTrial("all alike", {"epsilon": 4.0, "beta": None}, tuples(3, 1500 * more, 1, 4), 1400 * more),
    ]


def tuples(seed: int, rows: int, fewest: int, most: int) -> MatcherStream:
    """Tuples around recurring values; some certainly exist, some hardly."""
    rng = np.random.default_rng([21, seed])
    values = []
    for centre in rng.normal(0.0, 1.0, rows).tolist():
        count = int(rng.integers(fewest, most + 1))
        shares = rng.dirichlet(np.ones(count)) * rng.choice([1.0, 0.7, 1e-3])
        values.append((centre + rng.normal(0.0, 0.2, count), shares * (1 - 1e-12)))
    return stream_of(values)
