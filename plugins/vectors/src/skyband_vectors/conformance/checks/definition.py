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
from skyband_specs.together import TurnsTogether

from skyband_vectors.conformance import oracle
from skyband_vectors.conformance.driver import plain, rows
from skyband_vectors.conformance.streams import VectorStream, bursts, clustered, stream_of
from skyband_vectors.conformance.trials import matches_of

COUNT = 7
WHOLE = {"matches": "all", "keep": "all", "sides": 1, "by": "time"}


@answer_once
def expected(parameters: Mapping[str, Any], stream: VectorStream, parts: Any = None) -> list[list[oracle.Match]]:
    """The matches of each vector of the stream, by definition."""
    times = range(len(stream)) if parameters.get("by") == "rows" else stream.times.tolist()
    return oracle.matches(parameters, times, stream.vectors.tolist(), stream.sides.tolist(), parts)


def matched(backend: Any, stream: VectorStream, cuts: list[int], parts: Any = None) -> list[list[oracle.Match]]:
    """The matches reported for each vector if the stream is cut after these rows."""
    answers: list[list[oracle.Match]] = []
    ends = [*cuts, len(stream)]
    for start, stop in zip([0, *ends[:-1]], ends, strict=True):
        some = () if parts is None else (parts[start:stop],)
        answers += plain(backend.update(*rows(backend, stream, start, stop), *some))
    return answers


@check("oracle", guarantees=("exact",))
def check_every_arrival_reports_its_matches(make: Make, case: Case) -> None:
    """Updates return the defined matches of each arrival, to the last bit, wherever the stream is cut."""

    def law(stream: VectorStream) -> None:
        right = expected(case.parameters, stream)
        for seed in range(3):
            cuts = random_cuts(len(stream), seed)
            expect_equal(matched(make(), stream, cuts), right, f"matches of each vector, cut after {cuts}")

    holds_for(case, seeded(case), law)


@check("oracle", guarantees=("exact",), once=True)
def check_a_similarity_equal_to_the_threshold_matches(make: Make, case: Case) -> None:
    """A similarity that equals the threshold is enough, one unit in the last place below is not."""
    rng = np.random.default_rng(5)
    for dimensions in (1, 2, 7, 8, 9, 24, 64):
        vectors = rng.standard_normal((2, dimensions))
        for first, second in ((vectors[0], vectors[1]), (vectors[0], vectors[0] + 0.1 * vectors[1])):
            stream = stream_of([first, second, second, first])
            for similarity in ("cosine", "dot", "euclidean"):
                own = stream.vectors.tolist()
                threshold = oracle.similarity(similarity, own[0], own[1])
                above = math.nextafter(threshold, math.inf)
                for limit in (threshold, *([above] if similarity != "cosine" or above <= 1 else [])):
                    parameters = {"dimensions": dimensions, "window": 9, "similarity": similarity, "threshold": limit}
                    got = matched(make(**parameters, **WHOLE), stream, [1])
                    expect_equal(got, expected({**parameters, **WHOLE}, stream), f"matches with {parameters}")


@check("oracle", guarantees=("exact",), once=True)
def check_scaled_copies_have_cosine_1(make: Make, case: Case) -> None:
    """A vector and its multiples by powers of two have cosine 1.0, exactly, and their opposites -1.0."""
    rng = np.random.default_rng(6)
    for dimensions in (1, 5, 8, 100, 300):
        vector = rng.standard_normal(dimensions).astype(np.float32)
        stream = stream_of([vector, vector * 2.0**-20, -vector, vector * 2.0**40])
        got = matched(make(dimensions=dimensions, window=9, similarity="cosine", threshold=-1.0, **WHOLE), stream, [])
        expect_equal([value for row in got for _, value in row], [1.0, -1.0, -1.0, 1.0, 1.0, -1.0], "cosines of copies")


@check("oracle", guarantees=("exact",), once=True)
def check_pairs_just_below_the_threshold_do_not_hide_those_at_it(make: Make, case: Case) -> None:
    """Hundreds of pairs within rounding of the threshold, in windows beyond every change of method."""
    base = clustered(9, 700, 64, cone=3.0)
    for similarity in ("cosine", "dot", "euclidean"):
        values = oracle.similarities(
            similarity, base.vectors[650].astype(np.float64), base.vectors[300:640].astype(np.float64)
        )
        for rank in (40, 200):
            threshold = float(np.sort(values)[-rank])
            parameters = {**WHOLE, "dimensions": 64, "window": 400, "similarity": similarity, "threshold": threshold}
            got = matched(make(**parameters), base, [256, 511, 512])
            expect_equal(got, matches_of(parameters, base), f"matches at {threshold}, {similarity}")


@check("oracle", guarantees=("exact",), once=True)
def check_pairs_at_the_threshold_survive_rounding_where_few_directions_hold_most(make: Make, case: Case) -> None:
    """A pair exactly at the threshold matches, whatever is multiplied first: four of them, each rounded its own way."""
    base = clustered(9, 700, 192, decay=1.0)
    values = oracle.similarities(
        "cosine", base.vectors[650].astype(np.float64), base.vectors[300:640].astype(np.float64)
    )
    for rank in (1, 2, 4, 8):
        threshold = float(np.sort(values)[-rank])
        parameters = {**WHOLE, "dimensions": 192, "window": 400, "similarity": "cosine", "threshold": threshold}
        got = matched(make(**parameters), base, [256, 511, 512])
        expect_equal(got, matches_of(parameters, base), f"matches at {threshold}")


@check("oracle", guarantees=("exact",), once=True)
def check_order_of_batches_makes_no_difference(make: Make, case: Case) -> None:
    """Rows one by one, in sevens, in hundreds and all at once have the same matches and leave the same state."""
    stream = clustered(8, 640, 96, decay=0.5)
    parameters: dict[str, Any] = {"dimensions": 96, "window": 400, "threshold": 0.8, "similarity": "cosine"}
    for further in ({}, {"matches": 2}, {"keep": "first"}):
        whole = {**WHOLE, **parameters, **further}
        right = matches_of(whole, stream)
        for size in (1, 7, 100, 640):
            backend = make(**whole)
            got = matched(backend, stream, list(range(size, 640, size)))
            expect_equal(got, right, f"matches in batches of {size}, {further}")


class _Together(TurnsTogether):
    """Turns of matchers: each arrival is an answer, so there are no moments."""

    def columns(self, backend: Any, stream: Any, start: int, stop: int) -> list[Any]:
        return list(rows(backend, stream, start, stop))

    def moments(self, backend: Any, times: Any, until: int) -> Any:
        return np.empty(0, np.int64)

    def alone(self, backend: Any, columns: Any, moments: Any) -> list[Any]:
        return plain(backend.update(*columns))

    def together(self, backends: list[Any], columns: Any, spans: Any, moments: Any) -> list[Any]:
        return plain(type(backends[0]).update_together(backends, *columns, spans=spans))


@check("batch-split")
def check_several_together_answer_as_each(make: Make, case: Case) -> None:
    """Several matchers updated by one call, each with its own vectors, answer like matchers updated alone."""
    streams = (bursts(seed, case.parameters["dimensions"]) for seed in (1, 2))
    holds_for(case, streams, lambda stream: _Together().expect_as_each(make, case, stream))
