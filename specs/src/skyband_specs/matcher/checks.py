"""The checks that only matchers have."""

from typing import Any

import numpy as np

from skyband_specs.batching import fed, seeded
from skyband_specs.check import Make, check, expect, expect_equal, expect_refused
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.matcher import oracle
from skyband_specs.matcher.driver import HELD, probes, samples

COUNT = 7
ROUNDING = 1e-12


@check("oracle", guarantees=("exact",))
def check_matches_are_the_share_of_worlds(make: Make, case: Case) -> None:
    """The probability is that both tuples exist with values within epsilon."""

    def law(stream: Any) -> None:
        backend = fed(lambda: make(beta=None), case, stream)
        for row in probes(stream)[:3]:
            positions, got = backend.match(stream.values[row], stream.probabilities[row])
            shares = dict(zip(positions.tolist(), got.tolist(), strict=True))
            for position in range(backend.start, backend.end):
                pair = samples(stream, row), samples(stream, position)
                expected = float(oracle.in_worlds(*pair, case.parameters["epsilon"]))
                close = abs(shares.get(position, 0.0) - expected) <= ROUNDING
                expect(close, f"match of {row} and {position}: got {shares.get(position)}, in the worlds {expected}")

    holds_for(case, seeded(case, (1,)), law)


@check("oracle", guarantees=("exact",))
def check_decimals_on_the_boundary_match(make: Make, case: Case) -> None:
    """|u − v| <= epsilon is decided in floats, for decimals on the boundary or just next to it."""
    tenths = np.round(np.arange(-40, 41) * 0.1, 1)
    offsets = np.arange(len(tenths) + 1)
    for epsilon in (0.1, 0.3, 0.7, 1e-9, 5e-324):
        backend = make(epsilon=epsilon, beta=None)
        backend.append(offsets, tenths, np.ones(len(tenths)))
        for value in (*tenths[::9].tolist(), float(np.nextafter(0.1, 1)), 1e300, -1e300):
            got = backend.match([value], [1.0])[0].tolist()
            expected = [place for place, other in enumerate(tenths.tolist()) if abs(value - other) <= epsilon]
            expect_equal(got, expected, f"tenths within {epsilon!r} of {value!r}")


@check("oracle", guarantees=("exact",))
def check_beta_keeps_equality(make: Make, case: Case) -> None:
    """A match of exactly beta is returned; one just below is not."""
    for share, expected in ((0.5, [0]), (float(np.nextafter(0.5, 0.0)), [])):
        backend = make(epsilon=0.0, beta=0.25)
        backend.append([0, 1], [1.0], [share])
        got, _ = backend.match([1.0], [0.5])
        expect_equal(got.tolist(), expected, f"positions with probability {share!r}·0.5, beta = 0.25")


@check("batch-split")
def check_many_probes_are_as_many_matches(make: Make, case: Case) -> None:
    """match_all, each probe with its own range, returns what a matcher with only that range returns."""

    def law(stream: Any) -> None:
        backend = fed(make, case, stream)
        rng = np.random.default_rng(3)
        bounds = np.sort(rng.integers(backend.start, backend.end + 1, (len(stream), 2)), axis=1)
        numbers, positions, probabilities = backend.match_all(*stream.flat(0, len(stream)), bounds[:, 0], bounds[:, 1])
        got = list(zip(numbers.tolist(), positions.tolist(), probabilities.tolist(), strict=True))
        expected = []
        for row in range(len(stream)):
            near = backend.match(stream.values[row], stream.probabilities[row])
            for position, chance in zip(near[0].tolist(), near[1].tolist(), strict=True):
                if bounds[row, 0] <= position < bounds[row, 1]:
                    expected.append((row, position, chance))
        expect_equal(got, expected, "(probe, position, probability)")

    holds_for(case, seeded(case), law)


@check("edges")
def check_samples_may_come_in_any_order(make: Make, case: Case) -> None:
    """A tuple is a set of samples: shuffled, it gives the same bits."""

    def law(stream: Any) -> None:
        rng = np.random.default_rng(4)
        orders = [rng.permutation(len(values)) for values in stream.values]
        shuffled = type(stream)(
            tuple(values[order] for values, order in zip(stream.values, orders, strict=True)),
            tuple(shares[order] for shares, order in zip(stream.probabilities, orders, strict=True)),
        )
        got = case.driver.answers(fed(make, case, shuffled), shuffled, len(stream))
        expect_equal(got, case.driver.answers(fed(make, case, stream), stream, len(stream)), "shuffled samples")

    holds_for(case, seeded(case), law)


@check("edges")
def check_evicted_tuples_do_not_match(make: Make, case: Case) -> None:
    """Whenever they leave: one at a time after each append, or all at once."""

    def law(stream: Any) -> None:
        backend = make()
        for row in range(len(stream)):
            case.driver.feed(backend, stream, row, row + 1)
        late = make()
        late.append(*stream.flat(0, len(stream)))
        late.evict(max(0, len(stream) - HELD))
        expected = case.driver.answers(backend, stream, len(stream))
        expect_equal(case.driver.answers(late, stream, len(stream)), expected, "all evicted at once")
        expect_equal((late.start, late.end, len(late)), (backend.start, backend.end, len(backend)), "bounds")
        late.evict(late.end)
        expect_equal(case.driver.answers(late, stream, len(stream))[2], [[] for _ in probes(stream)], "of none")

    holds_for(case, seeded(case), law)


@check("bad-input")
def check_wrong_parameters_are_named(make: Make, case: Case) -> None:
    """Invalid parameters are refused, by name."""
    wrong: list[tuple[str, Any]] = [
        ("epsilon", -1e-9),
        ("epsilon", float("nan")),
        ("epsilon", float("inf")),
        ("beta", 1.0),
        ("beta", -0.1),
    ]
    for name, value in [*wrong, ("beta", float("nan"))]:
        expect_refused(make, name, **{name: value})
