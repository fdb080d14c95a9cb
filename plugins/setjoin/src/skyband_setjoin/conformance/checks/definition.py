"""Every arrival's matches equal those found by comparing it with the whole window."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from skyband_specs.batching import random_cuts, seeded
from skyband_specs.check import Make, check, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.memoized_oracle import answer_once
from skyband_specs.pair_ranker.checks import squared_cosine
from skyband_specs.pair_ranker.driver import rows
from skyband_specs.pair_ranker.oracle import SIMILARITIES
from skyband_specs.together import TurnsTogether

from skyband_setjoin.conformance import oracle
from skyband_setjoin.conformance.driver import plain, sets_of
from skyband_setjoin.conformance.streams import PairStream, bursts, drifting, growing, reweighted, stream_of, zipf

COUNT = 7
THRESHOLDS = {"overlap": (1.0, 4.0), "hamming": (-7.0, -2.0)}
SHARES = (0.5, 0.75)


def negated(overlap: int, n: int, m: int) -> float:
    """A similarity that is never positive."""
    return -2.0 * (n + m - 2 * overlap)


@answer_once
def expected(parameters: Mapping[str, Any], stream: PairStream, parts: Any = None) -> list[list[oracle.Match]]:
    """The matches of each set of the stream, by definition."""
    times = range(len(stream)) if parameters.get("by") == "rows" else stream.times.tolist()
    return oracle.matches(parameters, times, sets_of(stream), stream.sides.tolist(), parts)


def matched(backend: Any, stream: PairStream, cuts: list[int], parts: Any = None) -> list[list[oracle.Match]]:
    """The matches reported for each set if the stream is cut after these rows."""
    answers: list[list[oracle.Match]] = []
    ends = [*cuts, len(stream)]
    for start, stop in zip([0, *ends[:-1]], ends, strict=True):
        some = () if parts is None else (parts[start:stop],)
        answers += plain(backend.update(*rows(backend, stream, start, stop), *some))
    return answers


def expect_matches(make: Make, stream: PairStream, what: str, **parameters: Any) -> None:
    """Fail unless a backend with these parameters reports the defined matches, for any batches."""
    got = matched(make(**parameters), stream, random_cuts(len(stream), len(stream)))
    expect_equal(got, expected(parameters, stream), f"matches of each set, {what}, {parameters}")


@check("oracle", guarantees=("exact",))
def check_every_arrival_reports_its_matches(make: Make, case: Case) -> None:
    """Updates return the defined matches of each arrival, none for empty sets."""

    def law(stream: PairStream) -> None:
        right = expected(case.parameters, stream)
        for seed in range(3):
            cuts = random_cuts(len(stream), seed)
            expect_equal(matched(make(), stream, cuts), right, f"matches of each set, cut after {cuts}")

    holds_for(case, seeded(case), law)


@check("oracle", guarantees=("exact",), once=True)
def check_words_match_as_defined(make: Make, case: Case) -> None:
    """Sets of words distributed as in text, with near-duplicates, in windows of hundreds: every similarity."""
    for similarity in SIMILARITIES:
        stream = zipf(len(similarity), 400, universe=400, back=150)
        for threshold in THRESHOLDS.get(similarity, SHARES):
            parameters: dict[str, Any] = {"threshold": threshold, "similarity": similarity}
            expect_matches(make, stream, "Zipf's words", **parameters, window=100, matches="all", keep="all", sides=1)
            expect_matches(make, stream, "Zipf's words", **parameters, window=140, matches=2, keep="all", sides=2)


@check("oracle", guarantees=("exact",), once=True)
def check_drift_loses_no_match(make: Make, case: Case) -> None:
    """Words that are all new, and rare ones that become frequent, match like any others."""
    streams = {"renamed": drifting(1, 1200, 300), "turned round": reweighted(2, 1200)}
    for what, stream in streams.items():
        for keep in ("all", "first"):
            parameters = {"threshold": 0.6, "window": 110, "similarity": "jaccard", "matches": "all", "keep": keep}
            expect_matches(make, stream, f"words {what}", **parameters, sides=1)


@check("oracle", guarantees=("exact",), once=True)
def check_sets_of_all_sizes_match(make: Make, case: Case) -> None:
    """Short sets after long ones and long after short: sets do not arrive in order of size."""
    for similarity, threshold in (("jaccard", 0.5), ("cosine", 0.7), ("containment", 0.9)):
        parameters = {"threshold": threshold, "similarity": similarity, "matches": "all", "keep": "all", "sides": 1}
        expect_matches(make, growing(1, 500), "sets that grow and shrink", **parameters, window=60)


@check("oracle", guarantees=("exact",), once=True)
def check_a_similarity_equal_to_the_threshold_matches(make: Make, case: Case) -> None:
    """A similarity that equals the threshold, as a float, is enough, and none below: for all o, n and m tokens."""
    for similarity in SIMILARITIES:
        for n, m, common in (
            (100, 100, 71),
            (7, 9, 6),
            (11, 20, 11),
            (25, 20, 15),
            (100, 55, 55),
            (3, 3, 2),
            (1, 1, 1),
        ):
            threshold = SIMILARITIES[similarity](common, n, m)
            sets = [
                [*range(common), *range(1000 * i, 1000 * i + size - common)] for i, size in ((1, n), (2, m), (3, n))
            ]
            parameters = {"similarity": similarity, "matches": "all", "keep": "all", "sides": 1, "window": 10}
            expect_matches(make, stream_of(sets), "at the threshold", **parameters, threshold=threshold)
            if 0 < threshold < 1:
                above = math.nextafter(threshold, math.inf)
                expect_matches(make, stream_of(sets), "just below the threshold", **parameters, threshold=above)


@check("oracle", guarantees=("exact",), once=True)
def check_a_user_function_matches(make: Make, case: Case) -> None:
    """Any well-behaved function of (overlap, size, size) can be the similarity."""
    for function, threshold in ((squared_cosine, 0.4), (negated, -6.0)):
        parameters = {"threshold": threshold, "window": 30, "similarity": function, "keep": "all", "sides": 1}
        expect_matches(make, bursts(1), f"by {function.__name__}", **parameters, matches="all")


class _Together(TurnsTogether):
    """Turns of matchers: each arrival is an answer, so there are no moments."""

    def columns(self, backend: Any, stream: Any, start: int, stop: int) -> list[Any]:
        times, _, _, sides = rows(backend, stream, start, stop)
        sets = np.empty(stop - start, object)
        sets[:] = stream.sets[start:stop]
        return [times, sets, sides]

    def moments(self, backend: Any, times: Any, until: int) -> Any:
        return np.empty(0, np.int64)

    def alone(self, backend: Any, columns: Any, moments: Any) -> list[Any]:
        return plain(backend.update(*_flat(columns)))

    def together(self, backends: list[Any], columns: Any, spans: Any, moments: Any) -> list[Any]:
        return plain(type(backends[0]).update_together(backends, *_flat(columns), spans=spans))


def _flat(columns: Any) -> tuple[Any, ...]:
    times, sets, sides = columns
    offsets = np.append(0, np.cumsum([len(words) for words in sets], dtype=np.int64))
    return times, offsets, np.concatenate([np.empty(0, np.int64), *sets]), sides


@check("batch-split")
def check_several_together_answer_as_each(make: Make, case: Case) -> None:
    """Several matchers updated by one call, each with its own sets, answer like matchers updated alone."""
    holds_for(case, seeded(case, (1, 2)), lambda stream: _Together().expect_as_each(make, case, stream))
