"""Each time at which a bound is reached is returned once, with the value at its end."""

from itertools import pairwise

import numpy as np
from skyband_specs.batching import random_cuts, sampled, seeded
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_detect.conformance.streams import MomentStream, stream
from skyband_detect.total_role import QUANTILE
from skyband_detect.totals.conformance.oracle import KeyTotalOracle
from skyband_detect.totals.conformance.plain_data import asks_of, push, rows_of, values_for

COUNT = 6
MOST_TINY = 300


@check("oracle", guarantees=("exact",))
def check_reached_bounds_are_those_of_the_definition(make: Make, case: Case) -> None:
    """Each time, with its bound, number of values and value, in random batches, restored now and then."""

    def law(rows: MomentStream) -> None:
        backend = make()
        asks = asks_of(backend.parameters())
        oracle = KeyTotalOracle(backend.measure, backend.limit)
        for number, (start, stop) in enumerate(pairwise((0, *random_cuts(len(rows), 1), len(rows)))):
            expected = oracle.update(rows_of(backend.measure, rows, start, stop), asks)
            expect_equal(push(backend, *rows.flat(start, stop)), expected, f"moments {start} to {stop}")
            if number % 3 == 1 and case.has("snapshot"):
                backend = case.restore(backend.snapshot())

    holds_for(case, [*sampled(case, MOST_TINY), *seeded(case)], law)


@check("oracle", guarantees=("exact",))
def check_each_total_is_answered_as_if_alone(make: Make, case: Case) -> None:
    """Several windows and bounds in one call have the answers of each in a separate backend."""

    def law(rows: MomentStream) -> None:
        together = make()
        asks = asks_of(together.parameters())
        hits = push(together, *rows.flat(0, len(rows)))
        for number, ask in enumerate(asks):
            alone = push(make(longest=ask[0]), *rows.flat(0, len(rows)), asks=[ask])
            own = [(row, 0, *numbers) for row, place, *numbers in hits if place == number]
            expect_equal(alone, own, f"{ask} alone, and with others")

    holds_for(case, seeded(case, (1, 2)), law)


@check("oracle", guarantees=("exact",))
def check_a_total_that_joins_was_always_there(make: Make, case: Case) -> None:
    """Asked from the middle of the stream on, a bound has the answers that it would have had anyway."""

    def law(rows: MomentStream) -> None:
        always, joins, half = make(), make(), len(rows) // 2
        push(always, *rows.flat(0, half))
        push(joins, *rows.flat(0, half), asks=[])
        rest = rows.flat(half, len(rows))
        expect_equal(push(joins, *rest), push(always, *rest), "from the middle on")

    holds_for(case, seeded(case), law)


@check("edges")
def check_totals_leave_out_what_is_one_window_old(make: Make, case: Case) -> None:
    """Of two rows a window apart only the later one is in the window; of two a tick less, both are."""
    window = make().longest
    if window < 2:
        return
    for gap, count in ((window - 1, 2), (window, 1)):
        rows = stream([0, gap], [[(1, 12)], [(1, 12)]]).flat(0, 2)
        ask = (window, -(2**40), 1, 1, True) if make().measure != "sum" else (window, -(2**40), 0, 1, True)
        hits = push(make(limit=-1e9) if make().measure == QUANTILE else make(), *rows, asks=[ask])
        expect_equal([(row, of) for row, _, of, _ in hits], [(0, 1), (1, count)], f"values after {gap}")


@check("edges")
def check_asking_totals_leaves_no_trace(make: Make, case: Case) -> None:
    """A backend that was asked equals one that was not."""

    def law(rows: MomentStream) -> None:
        asked_often, never = make(), make()
        push(asked_often, *rows.flat(0, len(rows)))
        push(never, *rows.flat(0, len(rows)), asks=[])
        expect(asked_often == never, "a backend differs by what it was asked")

    holds_for(case, seeded(case, (1,)), law)


@check("memory")
def check_values_are_forgotten(make: Make, case: Case) -> None:
    """When all rows have expired, nothing is retained; a million keys seen once leave little."""
    backend = make(longest=100)
    for start in range(0, 200_000, 20_000):
        times = np.arange(start, start + 20_000)
        backend.update(times, times.astype(np.uint64), values_for(backend.measure, times.astype(np.uint64)))
    size = backend.nbytes
    expect(size < 1 << 21, f"200,000 keys, 100 of them in the window, leave {size} bytes")
    backend.advance(backend.now + 101)
    expect_equal(len(backend), 0, "items retained when all has expired")
