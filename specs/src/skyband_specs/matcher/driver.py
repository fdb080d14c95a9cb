"""Drives a matcher in the common checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from skyband import BackendInfo

from skyband_specs.driver import Case, Driver, Trial
from skyband_specs.matcher import oracle, trials
from skyband_specs.matcher.streams import MatcherStream, mixed, steady, stream_of, tiny

STEADY_ROWS = 8_000
HELD = 30
"""Tuples kept: after each batch, older ones are evicted."""
PROBES = 10
ODD_ROWS = 40


class MatcherDriver(Driver):
    """Feeds tuples, keeps the last HELD of them, and probes with tuples of the stream itself."""

    role: ClassVar[str] = "matcher"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """Boundaries that decimals fall on, with and without beta; no distance at all, and a large one."""
        return [
            {"epsilon": 0.2},
            {"epsilon": 0.2, "beta": 0.5},
            {"epsilon": 0.1, "beta": 0.125},
            {"epsilon": 0.0},
            {"epsilon": 2.0, "beta": 0.99},
        ]

    def tiny(self, case: Case) -> Iterator[MatcherStream]:
        """All streams of a few tuples of a few samples."""
        return tiny()

    def seeded(self, case: Case, seed: int) -> MatcherStream:
        """Tuples of every kind."""
        return mixed(seed)

    def steady(self, case: Case) -> MatcherStream:
        """The paper's tuples, for ever."""
        return steady(STEADY_ROWS)

    def odd(self, case: Case) -> Iterator[tuple[str, MatcherStream]]:
        """Values at the ends of float64, close to each other, and exactly `epsilon` apart; some are very improbable."""
        rng, epsilon = np.random.default_rng(29), case.parameters["epsilon"]
        ends = [1.7e308, -1.7e308, 5e-324, 0.0, -0.0, 2.0**53, 2.0**53 + 2]
        edge = 0.1 + epsilon
        near = [0.1, float(np.nextafter(0.1, 1.0)), edge, float(np.nextafter(edge, 9.0)), 0.1 - epsilon]
        for label, kinds in {"at the ends of float64": ends, "beside one another": near}.items():
            counts, shares = rng.integers(1, 6, ODD_ROWS).tolist(), rng.choice([0.9, 1e-9, 1e-160], ODD_ROWS).tolist()
            rows = [(rng.choice(kinds, n), np.full(n, share / n)) for n, share in zip(counts, shares, strict=True)]
            yield f"values {label}", stream_of(rows)

    def acts(self, case: Case, stream: MatcherStream, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:
        """To evict one, or all."""
        return [
            ("evicting one", lambda backend: backend.evict(min(backend.start + 1, backend.end))),
            ("evicting all", lambda backend: backend.evict(backend.end)),
        ]

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large streams, each with a fast oracle."""
        return trials.trials(case)

    def feed(self, backend: Any, stream: MatcherStream, start: int, stop: int) -> None:
        """One append and one eviction."""
        backend.append(*stream.flat(start, stop))
        backend.evict(max(backend.start, backend.end - HELD))

    def answers(self, backend: Any, stream: MatcherStream, stop: int) -> list[Any]:
        """Bounds, then the matches of some of the stream's tuples, including future ones."""
        rows = probes(stream)
        tuples = stream.take(np.array(rows, np.int64))
        columns = backend.match_all(*tuples.flat(0, len(tuples)))
        matches: list[list[tuple[int, float]]] = [[] for _ in rows]
        for probe, position, chance in zip(*(column.tolist() for column in columns), strict=True):
            matches[probe].append((position, chance))
        return [backend.start, backend.end, matches]

    def expected(self, case: Case, stream: MatcherStream, stop: int) -> list[Any]:
        """The same by comparing every sample with every other."""
        start = max(0, stop - HELD)
        window = [(row, samples(stream, row)) for row in range(start, stop)]
        limits = case.parameters["epsilon"], case.parameters.get("beta")
        return [start, stop, [oracle.matches(samples(stream, row), window, *limits) for row in probes(stream)]]

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Invalid tuples, and ranges outside those kept."""
        good = {"offsets": [0, 2, 3], "values": [0.0, 1.0, 2.0], "probabilities": [0.5, 0.25, 1.0]}

        def append(**wrong: Any) -> Callable[[], Any]:
            return lambda: backend.append(**{**good, **wrong})

        def match_all(**wrong: Any) -> Callable[[], Any]:
            return lambda: backend.match_all(**{**good, **wrong})

        return [
            ("fewer probabilities than values", append(probabilities=[0.5, 0.25])),
            ("a value that is NaN", append(values=[0.0, np.nan, 2.0])),
            ("an infinite value", append(values=[0.0, 1.0, -np.inf])),
            ("a probability above 1", append(probabilities=[0.5, 0.25, 1.5])),
            ("a negative probability", append(probabilities=[0.5, -0.25, 1.0])),
            ("a probability that is NaN", append(probabilities=[0.5, 0.25, np.nan])),
            ("probabilities that sum above 1", append(probabilities=[0.5, 0.75, 1.0])),
            ("offsets that fall", append(offsets=[0, 4, 3])),
            ("offsets that do not end with the values", append(offsets=[0, 2])),
            ("offsets that do not begin at 0", append(offsets=[1, 2, 3])),
            ("no offsets", append(offsets=[])),
            ("values that are text", append(values=np.array(["a", "b", "c"]))),
            ("a probe whose probabilities sum above 1", lambda: backend.match([0.0, 1.0], [0.75, 0.5])),
            ("a probe with a value that is NaN", lambda: backend.match([np.nan], [0.5])),
            ("a probe with fewer probabilities than values", lambda: backend.match([0.0, 1.0], [0.5])),
            ("starts before what is held", match_all(starts=[backend.start - 1] * 2)),
            ("ends past what is held", match_all(ends=[backend.end, backend.end + 1])),
            ("a start after its end", match_all(starts=[backend.end] * 2, ends=[backend.end - 1] * 2)),
            ("fewer starts than probes", match_all(starts=[backend.start])),
            ("evicting what is to come", lambda: backend.evict(backend.end + 1)),
            ("evicting half a tuple", lambda: backend.evict(backend.start + 0.5)),
            ("an eviction taken back", lambda: backend.evict(backend.start - 1)),
        ]


def probes(stream: MatcherStream) -> list[int]:
    """Rows to probe with: the first, the last, and some between."""
    return np.unique(np.linspace(0, len(stream) - 1, PROBES).astype(int)).tolist() if len(stream) else []


def samples(stream: MatcherStream, row: int) -> list[tuple[float, float]]:
    """A row as (value, probability) pairs."""
    return list(zip(stream.values[row].tolist(), stream.probabilities[row].tolist(), strict=True))


DRIVER = MatcherDriver()
