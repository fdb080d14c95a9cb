"""The edges of windows and of time, tokens and sizes of any kind, and invalid parameters."""

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from skyband_specs.batching import seeded
from skyband_specs.check import Make, check, expect, expect_equal, expect_refused
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.pair_ranker.checks import misbehaved
from skyband_specs.pair_ranker.driver import rows

from skyband_setjoin.conformance.checks.definition import expected, matched
from skyband_setjoin.conformance.driver import plain
from skyband_setjoin.conformance.streams import PairStream, stream_of, zipf

COUNT = 8
FAR = 2**63 - 1
MOST_OF_16_BITS = 2**16 - 1


@check("edges")
def check_sets_a_window_apart_match_and_older_do_not(make: Make, case: Case) -> None:
    """In time, sets match while they are at most W apart; in rows, while fewer than W arrived since."""
    if case.parameters.get("keep") == "first" or case.parameters.get("sides") == 2:
        return
    by_rows = case.parameters.get("by") == "rows"
    for window in (1, 5):
        sets = [[1], *([[]] * (window - by_rows - 1)), [1], [1]]
        times = [0, *range(1, window - by_rows), window, window + 1]
        right = expected({**case.parameters, "window": window, "matches": "all", "threshold": 1.0,
                          "similarity": "jaccard"}, stream_of(sets, times))  # fmt: skip
        backend = make(window=window, matches="all", threshold=1.0, similarity="jaccard")
        expect_equal(matched(backend, stream_of(sets, times), []), right, f"matches with a window of {window}")


@check("edges", guarantees=("exact",))
def check_silence_only_expires_sets(make: Make, case: Case) -> None:
    """Advancing to a moment between rows, past it or not at all leaves the same matches."""

    def law(stream: PairStream) -> None:
        right = expected(case.parameters, stream)
        backend, got = make(), []
        for row in range(len(stream)):
            times = rows(backend, stream, row, row + 1)[0]
            if row % 3:
                backend.advance(int(times[0]))
            got += plain(backend.update(*rows(backend, stream, row, row + 1)))
        expect_equal(got, right, "matches of each set, after advancing to its time")
        if backend.now is not None:
            backend.advance(backend.now + backend.window + 1)
            expect_equal(len(backend), 0, "sets held when all are older than the window")

    holds_for(case, seeded(case, (1, 2)), law)


@check("edges")
def check_order_and_repeats_of_tokens_do_not_matter(make: Make, case: Case) -> None:
    """The order and repetition of a set's tokens make no difference."""

    def law(stream: PairStream) -> None:
        rng = np.random.default_rng(len(stream))
        sets = tuple(rng.permutation(np.concatenate([tokens, tokens[:2], tokens])) for tokens in stream.sets)
        again = attrs.evolve(stream, sets=sets)
        expect_equal(matched(make(), again, []), matched(make(), stream, []), "matches when tokens are repeated")

    holds_for(case, seeded(case, (1, 2)), law)


@check("edges", guarantees=("exact",))
def check_names_of_tokens_do_not_matter(make: Make, case: Case) -> None:
    """Tokens may be any 64-bit numbers: small ones, hashes, or with equal low bits."""
    names: dict[str, Callable[[Any], Any]] = {
        "multiples of 2^48": lambda small: small << np.uint64(48),
        "spread ones": lambda small: small * np.uint64(0x9E3779B97F4A7C15),
        "negative": lambda small: ~small,
    }

    def law(stream: PairStream) -> None:
        distinct = np.unique(np.concatenate([np.empty(0, np.int64), *stream.sets]))
        right = expected(case.parameters, stream)
        for what, name in names.items():
            small = [np.searchsorted(distinct, tokens).astype(np.uint64) for tokens in stream.sets]
            renamed = attrs.evolve(stream, sets=tuple(name(tokens).view(np.int64) for tokens in small))
            expect_equal(matched(make(), renamed, []), right, f"matches when tokens are {what}")

    holds_for(case, seeded(case, (1, 2)), law)


@check("edges")
def check_ends_of_time(make: Make, case: Case) -> None:
    """The first and the last possible time, with the longest window: no sum or difference of times overflows."""
    if case.parameters.get("by") == "rows":
        return
    times = [-FAR - 1, -FAR, -1, 0, FAR - 1, FAR]
    stream = stream_of([[1]] * len(times), times)
    for window in (1, FAR):
        parameters = {**case.parameters, "window": window, "threshold": 1.0, "similarity": "jaccard"}
        backend = make(window=window, threshold=1.0, similarity="jaccard")
        expect_equal(matched(backend, stream, [1, 3]), expected(parameters, stream), f"matches, window {window}")


@check("edges", once=True)
def check_sets_of_more_than_65535_tokens(make: Make, case: Case) -> None:
    """Sets may have any number of tokens: just under 65,535, exactly as many, and more."""
    sizes = (MOST_OF_16_BITS - 1, MOST_OF_16_BITS, MOST_OF_16_BITS + 1, MOST_OF_16_BITS + 700)
    stream = stream_of([list(range(size)) for size in sizes] + [list(range(-5, size - 5)) for size in sizes])
    parameters = {"threshold": 0.9995, "window": 20, "matches": "all", "keep": "all", "sides": 1}
    got, right = matched(make(**parameters), stream, [3]), expected(parameters, stream)
    if case.info.guarantee == "exact":
        expect_equal(got, right, "matches of long sets")
    for answer, true in zip(got, right, strict=True):
        expect(set(answer) <= set(true), f"long sets reported {sorted(set(answer) - set(true))}, which do not match")


@check("oracle", guarantees=("exact",), once=True)
def check_a_snapshot_at_any_row_loses_no_match(make: Make, case: Case) -> None:
    """A matcher restored every few rows, also around periodic maintenance, reports the same matches."""
    if not case.has("snapshot"):
        return
    stream = zipf(3, 900, universe=300, back=80)
    for keep in ("all", "first"):
        parameters = {"threshold": 0.5, "window": 70, "matches": "all", "keep": keep, "sides": 1}
        right, backend, got = expected(parameters, stream), make(**parameters), []
        for start in range(0, len(stream), 31):
            stop = min(start + 31, len(stream))
            got += plain(backend.update(*rows(backend, stream, start, stop)))
            backend = case.restore(backend.snapshot())
        expect_equal(got, right, f"matches of each set, restored every 31 rows, keep = {keep}")


@check("bad-input", once=True)
def check_wrong_parameters_are_named(make: Make, case: Case) -> None:
    """Each parameter out of bounds, alone or with others, is refused by name."""
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("window", {"window": 0}),
        ("sides", {"sides": 3}),
        ("matches", {"matches": 0}),
        ("matches", {"matches": "some"}),
        ("keep", {"keep": "last"}),
        ("keep", {"keep": "first", "sides": 2}),
        ("similarity", {"similarity": "jacard"}),
        *(("threshold", {"threshold": value}) for value in (0.0, -0.5, 1.5)),
        *(("threshold", {"threshold": value, "similarity": "overlap"}) for value in (0, 1.5)),
        ("threshold", {"threshold": 1, "similarity": "hamming"}),
        ("threshold", {"threshold": 1.01, "similarity": "containment"}),
        *(("similarity", {"similarity": function}) for function in misbehaved()),
    ]
    for name, values in wrong:
        if name == "threshold" and "similarity" in values and case.info.guarantee != "exact":
            continue  # a matcher for Jaccard only names the similarity
        expect_refused(make, name, **values)
