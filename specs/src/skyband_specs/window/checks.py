"""The checks that only windows have."""

from typing import Any

import numpy as np

from skyband_specs.batching import fed, seeded
from skyband_specs.check import Make, check, expect, expect_equal, expect_refused
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.window import oracle
from skyband_specs.window.driver import CLOSE

COUNT = 9


@check("batch-split")
def check_append_returns_the_start_after_each_arrival(make: Make, case: Case) -> None:
    """One append of many tuples returns what as many single appends leave."""

    def law(stream: Any) -> None:
        backend, whole = make(), make()
        starts = []
        for row in range(len(stream)):
            case.driver.feed(backend, stream, row, row + 1)
            starts.append(backend.start)
        got = whole.append(stream.probabilities)
        expect_equal(got.dtype, np.dtype(np.int64), "dtype of the starts")
        expect_equal(got.tolist(), starts, "starts returned by one append")
        expect_equal((whole.start, whole.end), (backend.start, backend.end), "start and end")

    holds_for(case, seeded(case), law)


@check("edges")
def check_start_never_moves_back(make: Make, case: Case) -> None:
    """Nor past the last `size` tuples, because then `size` of them cannot exist."""

    def law(stream: Any) -> None:
        starts = make().append(stream.probabilities)
        expect(bool((np.diff(starts) >= 0).all()), f"starts {starts.tolist()} move back")
        arrived = np.arange(1, len(stream) + 1)
        sizes = arrived - starts
        least = np.minimum(arrived, case.parameters["size"])
        expect(bool((sizes >= least).all()), f"kept {sizes.tolist()} of {arrived.tolist()} tuples")

    holds_for(case, seeded(case), law)


@check("edges")
def check_certainty_takes_certain_tuples(make: Make, case: Case) -> None:
    """alpha = 1 without beta: the window reaches back to the `size`-th youngest certain tuple and no further."""

    def law(stream: Any) -> None:
        size = case.parameters["size"]
        sure = np.flatnonzero(stream.probabilities == 1.0)
        expected = int(sure[-size]) if len(sure) >= size else 0
        got = make(alpha=1.0, beta=None).append(stream.probabilities)
        expect_equal(int(got[-1]) if len(got) else 0, expected, "start")

    holds_for(case, seeded(case), law)


@check("edges", guarantees=("exact",))
def check_beta_is_strict(make: Make, case: Case) -> None:
    """A tuple whose presence is beta can still be part of a match at beta: it stays, and leaves just below."""
    probabilities = [0.5] * 4
    for beta, expected in ((0.25, 1), (float(np.nextafter(0.25, 1.0)), 2)):
        backend = make(size=1, alpha=1.0, beta=beta)
        backend.append(probabilities)
        expect_equal(backend.start, expected, f"start after four tuples at 0.5, with beta = {beta!r}")
    backend = make(size=1, alpha=0.75, beta=0.25)
    backend.append(probabilities)
    expect_equal(backend.start, 2, "start after four tuples at 0.5, with alpha = 0.75 and beta = 0.25")


@check("edges", guarantees=("exact",))
def check_certain_streams_have_plain_windows(make: Make, case: Case) -> None:
    """If every tuple exists, the window is the last `size` tuples, and each of them is present."""
    size = case.parameters["size"]
    backend = make()
    starts = backend.append(np.ones(3 * size))
    expect_equal(starts.tolist(), [max(0, row + 1 - size) for row in range(3 * size)], "starts")
    expect_equal(backend.presence().tolist(), [1.0] * size, "presence")


@check("oracle")
def check_presence_is_a_probability(make: Make, case: Case) -> None:
    """One for each tuple kept, within [0, 1]; 1 for the youngest `size`, which cannot be pushed out."""

    def law(stream: Any) -> None:
        backend = fed(make, case, stream)
        got = backend.presence()
        expect_equal(len(got), backend.end - backend.start, "length of presence")
        expect(bool(((got >= 0.0) & (got <= 1.0)).all()), f"presence {got.tolist()} leaves [0, 1]")
        youngest = got[-case.parameters["size"] :]
        expect_equal(youngest.tolist(), [1.0] * len(youngest), "presence of the youngest")

    holds_for(case, seeded(case), law)


@check("oracle")
def check_presence_among_is_presence_at_that_time(make: Make, case: Case) -> None:
    """For a whole stream at once, in any order, it equals presence at each arrival; the window is unchanged."""

    def law(stream: Any) -> None:
        backend = make()
        positions: list[int] = []
        ends: list[int] = []
        presences: list[float] = []
        for row in range(len(stream)):
            case.driver.feed(backend, stream, row, row + 1)
            if row % 7 == 0:
                positions.extend(range(backend.start, backend.end))
                ends.extend([row + 1] * len(backend))
                presences.extend(backend.presence().tolist())
        order = np.random.default_rng(0).permutation(len(presences))
        other = make()
        questions = np.array([positions, ends], np.int64)[:, order]
        got = other.presence_among(stream.probabilities, *questions)
        close = np.allclose(got, np.array(presences)[order], rtol=0.0, atol=CLOSE)
        expect(
            bool(close), f"presence among the stream: got {got.tolist()}, it was {np.array(presences)[order].tolist()}"
        )
        expect_equal((other.start, other.end, len(other)), (0, 0, 0), "bounds of a window that was only queried")

    holds_for(case, seeded(case), law)


@check("memory")
def check_long_streams_leave_no_drift(make: Make, case: Case) -> None:
    """After a long stream the window continues like one that only has the tuples kept."""
    stream: Any = case.driver.steady(case)
    backend = make()
    case.driver.feed(backend, stream, 0, len(stream))
    probabilities = stream.probabilities[backend.start :].tolist()
    young = make()
    young.append(probabilities)
    shift = backend.start - young.start
    got = backend.append(stream.probabilities[:500]) - shift
    expect_equal(got.tolist(), young.append(stream.probabilities[:500]).tolist(), "starts from then on")
    if case.info.guarantee == "exact":
        expected = oracle.presence(stream.probabilities[:500].tolist()[-len(backend) :], case.parameters["size"])
        got = backend.presence()[-len(expected) :]
        expect(
            bool(np.allclose(got, expected, rtol=0.0, atol=CLOSE)), f"presence: got {got.tolist()}, expected {expected}"
        )


@check("bad-input")
def check_wrong_parameters_are_named(make: Make, case: Case) -> None:
    """Invalid parameters are refused, by name."""
    wrong: list[tuple[str, Any]] = [
        ("size", 0),
        ("size", 1.5),
        ("alpha", 0.0),
        ("alpha", 1.1),
        ("alpha", float("nan")),
        ("beta", 1.0),
    ]
    for name, value in [*wrong, ("beta", -0.1), ("beta", float("nan"))]:
        expect_refused(make, name, **{name: value})
