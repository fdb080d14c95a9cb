"""The edges of windows and of time, entries of other types, and invalid parameters."""

from typing import Any

import numpy as np
from skyband_specs.batching import seeded
from skyband_specs.check import Make, check, expect_equal, expect_refused
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_vectors.conformance.checks.definition import WHOLE, expected, matched
from skyband_vectors.conformance.driver import plain, rows
from skyband_vectors.conformance.streams import VectorStream, bursts, clustered, stream_of
from skyband_vectors.conformance.trials import matches_of

COUNT = 6
FAR = 2**63 - 1


@check("edges", once=True)
def check_vectors_a_window_apart_match_and_older_do_not(make: Make, case: Case) -> None:
    """In time, vectors match while they are at most W apart; in rows, while fewer than W arrived since."""
    for by in ("time", "rows"):
        for window in (1, 5):
            parameters = {**WHOLE, "by": by, "dimensions": 2, "window": window, "threshold": 1.0}
            parameters["similarity"] = "cosine"
            gap = window - (by == "rows")
            vectors = [[1, 0], *([[0, 1]] * max(0, gap - 1)), [1, 0], [1, 0]]
            stream = stream_of(vectors, [0, *range(1, gap), window, window + 1][: len(vectors)])
            for cuts in ([], list(range(1, len(stream)))):
                got = matched(make(**parameters), stream, cuts)
                expect_equal(got, expected(parameters, stream), f"matches with a window of {window}, by {by}")


@check("edges", guarantees=("exact",))
def check_silence_only_expires_vectors(make: Make, case: Case) -> None:
    """Advancing to a moment between rows, past it or not at all leaves the same matches."""

    def law(stream: VectorStream) -> None:
        right = expected(case.parameters, stream)
        backend, got = make(), []
        for row in range(len(stream)):
            times = rows(backend, stream, row, row + 1)[0]
            if row % 3:
                backend.advance(int(times[0]))
            got += plain(backend.update(*rows(backend, stream, row, row + 1)))
        expect_equal(got, right, "matches of each vector, after advancing to its time")
        if backend.now is not None:
            backend.advance(backend.now + backend.window + 1)
            expect_equal(len(backend), 0, "vectors held when all are older than the window")

    holds_for(case, seeded(case, (1, 2)), law)


@check("edges", once=True)
def check_ends_of_time(make: Make, case: Case) -> None:
    """The first and the last possible time, with the longest window: no sum or difference of times overflows."""
    times = [-FAR - 1, -FAR, -1, 0, FAR - 1, FAR]
    stream = stream_of([[1.0, 2.0]] * len(times), times)
    for window in (1, FAR):
        parameters = {**WHOLE, "dimensions": 2, "window": window, "threshold": 1.0, "similarity": "cosine"}
        for cuts in ([], [1, 3]):
            got = matched(make(**parameters), stream, cuts)
            expect_equal(got, expected(parameters, stream), f"matches, window {window}")


@check("edges", once=True)
def check_entries_of_other_types_are_rounded(make: Make, case: Case) -> None:
    """float64 entries match as the float32 ones they round to; float16 and small whole numbers are exact."""
    parameters: dict[str, Any] = {**WHOLE, "dimensions": 9, "window": 50, "threshold": 0.3, "similarity": "cosine"}
    stream = bursts(3, 9, 60)
    whole, doubles = stream.vectors * 8, stream.vectors.astype(np.float64) * (1 / 3)
    columns = (stream.vectors, np.float16), (stream.vectors, np.float64), (whole, np.int32), (doubles, np.float64)
    for vectors, kind in columns:
        right = plain(make(**parameters).update(stream.times, vectors.astype(np.float32)))
        got = plain(make(**parameters).update(stream.times, vectors.astype(kind)))
        expect_equal(got, right, f"matches of {kind.__name__} entries")


@check("oracle", guarantees=("exact",), once=True)
def check_a_snapshot_at_any_row_loses_no_match(make: Make, case: Case) -> None:
    """A matcher restored every few rows, also around periodic maintenance, reports the same matches."""
    if not case.has("snapshot"):
        return
    stream = clustered(11, 700, 64)
    for keep in ("all", "first"):
        parameters = {**WHOLE, "dimensions": 64, "threshold": 0.7, "window": 350, "similarity": "cosine", "keep": keep}
        backend, got = make(**parameters), []
        for start in range(0, len(stream), 61):
            got += plain(backend.update(*rows(backend, stream, start, min(start + 61, len(stream)))))
            backend = case.restore(backend.snapshot())
        expect_equal(got, matches_of(parameters, stream), f"matches of each vector, restored every 61 rows, {keep}")


@check("bad-input", once=True)
def check_wrong_parameters_are_named(make: Make, case: Case) -> None:
    """Each parameter out of bounds, alone or with others, is refused by name."""
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("window", {"window": 0}),
        ("dimensions", {"dimensions": 0}),
        ("dimensions", {"dimensions": 100_000}),
        ("sides", {"sides": 3}),
        ("matches", {"matches": 0}),
        ("matches", {"matches": "some"}),
        ("keep", {"keep": "last"}),
        ("keep", {"keep": "first", "sides": 2}),
        ("keep", {"keep": "first", "threshold": None, "matches": 1}),
        ("similarity", {"similarity": "cosin"}),
        ("threshold", {"threshold": None, "matches": "all"}),
        ("threshold", {"threshold": float("nan")}),
        *(("threshold", {"threshold": value, "similarity": "cosine"}) for value in (1.2, 90, -1.5)),
        ("threshold", {"threshold": 0.5, "similarity": "euclidean"}),
    ]
    for name, values in wrong:
        expect_refused(make, name, **{"keep": "all", "sides": 1, **values})
