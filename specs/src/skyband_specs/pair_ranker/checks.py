"""The checks that only pair rankers have."""

from collections.abc import Callable
from functools import cache
from typing import Any

import attrs
import numpy as np
from skyband.roles.sharding import BOTH, BUILD, PROBE

from skyband_specs.batching import fed, seeded
from skyband_specs.check import Make, check, expect, expect_equal, expect_refused
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.pair_ranker.driver import rows
from skyband_specs.pair_ranker.oracle import SIMILARITIES, minimal_stock, pairs
from skyband_specs.pair_ranker.streams import PairStream, bursts, zipf
from skyband_specs.pair_ranker.trials import PairTrial

COUNT = 10
LAST = 2**63 - 1


def squared_cosine(overlap: int, n: int, m: int) -> float:
    """A similarity without a name: one object for all tests, because a backend may compile each once."""
    return overlap * overlap / (n * m)


def jaccard(overlap: int, n: int, m: int) -> float:
    """Jaccard's similarity under another name."""
    return overlap / (n + m - overlap)


def answer(backend: Any) -> list[tuple[int, int, float]]:
    """The top k as plain data."""
    left, right, similarity = backend.top()
    return list(zip(left.tolist(), right.tolist(), similarity.tolist(), strict=True))


def expected_pairs(
    case: Case, stream: PairStream, stop: int, now: int, parts: Any = None, **overrides: Any
) -> list[tuple[int, int, float]]:
    """The same by the definition."""
    parameters = {**case.parameters, **overrides}
    best = pairs(parameters, stream, stop, now, parts)[: parameters["k"]]
    return [(pair.left, pair.right, pair.similarity) for pair in best]


@check("edges", guarantees=("exact",))
def check_silence_equals_the_oracle(make: Make, case: Case) -> None:
    """While time passes without rows: pairs end with their older set, and pairs below them move up."""

    def law(stream: PairStream) -> None:
        backend = fed(make, case, stream)
        times = range(len(stream)) if backend.by == "rows" else stream.times.tolist()
        ends = {time + backend.window + step for time in times for step in (0, 1)}
        left = pairs(case.parameters, stream, len(stream), backend.now)
        for now in sorted(end for end in ends if end >= backend.now):
            backend.advance(now)
            left = [pair for pair in left if pair.end >= now - backend.window]
            best = [(pair.left, pair.right, pair.similarity) for pair in left[: backend.k]]
            expect_equal(answer(backend), best, f"top at {now}")
        expect_equal(answer(backend), [], "top when every set has expired")

    holds_for(case, seeded(case), law)


@check("batch-split")
def check_answers_are_update_and_top(make: Make, case: Case) -> None:
    """Answers within a batch equal those of stopping at each moment."""

    def law(stream: PairStream) -> None:
        backend, plain = make(), make()
        times, offsets, tokens, sides = rows(backend, stream, 0, len(stream))
        moments = np.unique(np.concatenate([times[::5] + 1, times[3::11], times[-3:] + 4]))
        if backend.by == "rows":
            moments = moments[moments <= len(stream)]
        cuts, left, right, similarity = backend.answers(times, offsets, tokens, moments, sides)
        expect_equal(len(cuts), len(moments) + 1, "cuts")
        start = 0
        for turn, moment in enumerate(moments.tolist()):
            stop = int(np.searchsorted(times, moment, side="left" if backend.by == "rows" else "right"))
            case.driver.feed(plain, stream, start, stop)
            plain.advance(moment)
            part = slice(cuts[turn], cuts[turn + 1])
            columns = (column[part].tolist() for column in (left, right, similarity))
            expect_equal(list(zip(*columns, strict=True)), answer(plain), f"answer at {moment}")
            start = stop
        case.driver.feed(plain, stream, start, len(stream))
        ends = [(answer(ranker), ranker.now, ranker.seen) for ranker in (backend, plain)]
        expect_equal(ends[0], ends[1], "top, now and sets seen at the end")

    holds_for(case, seeded(case, (1, 2)), law)


@check("edges")
def check_order_and_repeats_of_tokens_do_not_matter(make: Make, case: Case) -> None:
    """A set is the same whatever the order and number of its tokens."""

    def law(stream: PairStream) -> None:
        rng = np.random.default_rng(len(stream))
        sets = tuple(rng.permutation(np.concatenate([tokens, tokens[:2], tokens])) for tokens in stream.sets)
        plain, shuffled = fed(make, case, stream), fed(make, case, attrs.evolve(stream, sets=sets))
        expect_equal(answer(shuffled), answer(plain), "top when tokens are shuffled and repeated")

    holds_for(case, seeded(case, (1, 2)), law)


@check("edges", guarantees=("exact",))
def check_names_of_tokens_do_not_matter(make: Make, case: Case) -> None:
    """Tokens may be any 64-bit numbers: small ones, hashes, or with equal low bits."""
    mask = 2**64 - 1
    names = {
        "multiples of 2^48": lambda t: t << 48,
        "spread ones": lambda t: t * 0x9E3779B97F4A7C15,
        "negative": int.__neg__,
    }

    def law(stream: PairStream) -> None:
        plain = answer(fed(make, case, stream))
        small = {token: i + 1 for i, token in enumerate(sorted({t for s in stream.sets for t in s.tolist()}))}
        for what, name in names.items():
            sets = tuple(_renamed(tokens, lambda token, name=name: name(small[token]) & mask) for tokens in stream.sets)
            renamed = attrs.evolve(stream, sets=sets)
            expect_equal(answer(fed(make, case, renamed)), plain, f"top when tokens are {what}")

    holds_for(case, seeded(case, (1, 2)), law)


def _renamed(tokens: Any, name: Any) -> Any:
    return np.array([name(token) for token in tokens.tolist()], np.uint64).view(np.int64)


@check("edges")
def check_ends_of_time(make: Make, case: Case) -> None:
    """The first and the last possible time, with the longest window: no sum or difference of times overflows."""
    if case.parameters.get("by") == "rows":
        return
    times = np.array([-LAST - 1, -LAST, -1, 0, LAST - 1, LAST])
    sets = tuple(np.array([1, 2 + i]) for i in range(len(times)))
    for window in (1, LAST):
        stream = PairStream(times, np.array([0, 1, 0, 1, 0, 1], np.int8), sets)
        backend = make(window=window)
        for row in range(len(stream)):
            case.driver.feed(backend, stream, row, row + 1)
            expect_equal(
                answer(backend),
                expected_pairs(case, stream, row + 1, int(times[row]), window=window),
                f"top at {times[row]}",
            )


@check("oracle", guarantees=("exact",), once=True)
def check_zipf_streams_equal_the_oracle(make: Make, case: Case) -> None:
    """Sets of words as in text, including near-duplicates, in windows of a few hundred."""
    for trial in _zipf_trials():
        backend = make(**trial.parameters)
        for start in range(0, len(trial.stream), 60):
            stop = start + 60
            trial.feed(backend, start, stop)
            right = trial.expected(stop)
            expect_equal(trial.answers(backend, stop), right, f"top after {stop} sets, {trial.label}")


@cache
def _zipf_trials() -> list[PairTrial]:
    """Each caches its oracle's answers for all backends."""
    streams = {sides: zipf(sides, 600, universe=400, back=150) for sides in (1, 2)}
    return [
        PairTrial(
            f"{similarity}, {sides} sides",
            {"k": 20, "window": 250, "similarity": similarity, "sides": sides, "by": "time"},
            streams[sides],
        )
        for similarity in SIMILARITIES
        for sides in (1, 2)
    ]


@check("oracle", guarantees=("exact",))
def check_shared_pairs_equal_the_oracle(make: Make, case: Case) -> None:
    """Rankers may share pairs: two sets form one iff the earlier is kept and the later meets, also after a restore."""

    def law(stream: PairStream) -> None:
        parts = np.random.default_rng(len(stream)).choice([0, PROBE, BUILD, BOTH], len(stream)).astype(np.int8)
        backend = make()
        for start in range(0, len(stream), 20):
            stop = min(start + 20, len(stream))
            backend.update(*rows(backend, stream, start, stop), parts[start:stop])
            if case.has("snapshot"):
                backend = case.restore(backend.snapshot())
            right = expected_pairs(case, stream, stop, backend.now, parts)
            expect_equal(answer(backend), right, f"top after {stop} sets with parts {parts[:stop].tolist()}")
        expect_equal(backend.seen, len(stream), "sets seen, of whatever part")

    holds_for(case, seeded(case, (1, 2)), law)


@check("oracle", guarantees=("exact",))
def check_an_own_function_equals_the_similarity_it_computes(make: Make, case: Case) -> None:
    """A function of (overlap, size, size) works as a similarity, if it is well-behaved."""
    stream = bursts(1)
    for function in (squared_cosine, jaccard):
        backend = make(similarity=function)
        case.driver.feed(backend, stream, 0, len(stream))
        right = expected_pairs(case, stream, len(stream), backend.now, similarity=function)
        expect_equal(answer(backend), right, f"top by {function.__name__}")


def misbehaved() -> list[Callable[[int, int, int], float]]:
    """Functions that each lack one property of a well-behaved similarity."""
    return [
        lambda overlap, n, m: overlap * (n + m),
        lambda overlap, n, m: overlap / n + 0 * m,
        lambda overlap, n, m: -overlap / (n * m),
        lambda overlap, n, m: overlap / (n * m) ** 2,
        lambda overlap, n, m: float("nan") * overlap * n * m,
    ]


@check("bad-input", once=True)
def check_wrong_parameters_are_named(make: Make, case: Case) -> None:
    """k, window, similarity and sides out of bounds, and functions that are not well-behaved, are refused by name."""
    wrong: list[tuple[str, Any]] = [
        ("k", 0),
        ("window", 0),
        ("sides", 3),
        ("similarity", "jacard"),
        *(("similarity", function) for function in misbehaved()),
    ]
    for name, value in wrong:
        expect_refused(make, name, **{name: value})


@check("memory")
def check_no_more_than_can_be_an_answer_is_retained(make: Make, case: Case) -> None:
    """It retains at least the minimal stock, and at most every valid pair."""

    def law(stream: PairStream) -> None:
        backend = fed(make, case, stream)
        least = len(minimal_stock(case.parameters, stream, len(stream), backend.now))
        most = len(pairs(case.parameters, stream, len(stream), backend.now))
        expect(least <= len(backend) <= most, f"retains {len(backend)} pairs; {least} matter and {most} are valid")

    holds_for(case, seeded(case), law)
