"""Each row that crosses a bound is returned once, with the value at the end of its time."""

from itertools import pairwise
from typing import Any

import numpy as np
from skyband_specs.batching import random_cuts, sampled, seeded
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_detect.conformance.oracle import KeyCounterOracle
from skyband_detect.conformance.plain_data import asks_of, push, rows_of
from skyband_detect.conformance.streams import MomentStream, stream
from skyband_detect.role import UNSEEN

COUNT = 6
MOST_TINY = 300


@check("oracle", guarantees=("exact",))
def check_crossings_are_those_of_the_definition(make: Make, case: Case) -> None:
    """Each row that crosses, with its bound and value, over the whole stream in random batches."""

    def law(rows: MomentStream) -> None:
        backend = make()
        asks = asks_of(backend.parameters())
        oracle = KeyCounterOracle(backend.measure)
        for start, stop in pairwise((0, *random_cuts(len(rows), 1), len(rows))):
            expected = oracle.update(rows_of(rows, start, stop), asks)
            expect_equal(push(backend, *rows.flat(start, stop)), expected, f"moments {start} to {stop}")

    holds_for(case, [*sampled(case, MOST_TINY), *seeded(case)], law)


@check("oracle", guarantees=("exact",))
def check_each_bound_is_answered_as_if_alone(make: Make, case: Case) -> None:
    """Several windows and bounds in one call have the crossings of each in its own counter, of no larger limits."""

    def law(rows: MomentStream) -> None:
        together = make()
        asks = asks_of(together.parameters())
        crossings = push(together, *rows.flat(0, len(rows)))
        for number, ask in enumerate(asks):
            limits = {"longest": ask[0]} if together.measure == UNSEEN else {"longest": ask[0], "most": ask[1]}
            alone = push(make(**limits), *rows.flat(0, len(rows)), asks=[ask])
            own = [(row, 0, *numbers) for row, place, *numbers in crossings if place == number]
            expect_equal(alone, own, f"{ask} alone, and with others")

    holds_for(case, seeded(case, (1, 2)), law)


@check("oracle", guarantees=("exact",))
def check_a_bound_that_joins_was_always_there(make: Make, case: Case) -> None:
    """Asked from the middle of the stream on, a bound has the crossings that it would have had anyway."""

    def law(rows: MomentStream) -> None:
        always, joins, half = make(), make(), len(rows) // 2
        push(always, *rows.flat(0, half))
        push(joins, *rows.flat(0, half), asks=[])
        rest = rows.flat(half, len(rows))
        expect_equal(push(joins, *rest), push(always, *rest), "from the middle on")

    holds_for(case, seeded(case), law)


@check("edges")
def check_the_window_is_open_at_its_old_end(make: Make, case: Case) -> None:
    """A row exactly one window old is outside for rows and distinct values; a key seen then is not unseen."""
    backend = make()
    window = backend.longest
    if backend.measure == UNSEEN:
        for gap, unseen in ((window, False), (window + 1, True)):
            crossings = push(make(), *stream([0, gap], [[(1, 1)], [(1, 1)]]).flat(0, 2), asks=[(window, 1, False)])
            expect_equal([row for row, *_ in crossings], [0, 1] if unseen else [0], f"{gap} after the last row")
        return
    if backend.most < 2 or window < 2:
        return
    for gap, crosses in ((window - 1, True), (window, False)):
        rows = stream([0, gap], [[(1, 1)], [(1, 2)]]).flat(0, 2)
        crossings = push(make(), *rows, asks=[(window, 2, False)])
        expect_equal([row for row, *_ in crossings], [1] if crosses else [], f"{gap} after the first of two rows")


@check("edges")
def check_bounds_leave_no_trace(make: Make, case: Case) -> None:
    """A counter that was asked equals one that was not."""

    def law(rows: MomentStream) -> None:
        asked_often, never = make(), make()
        push(asked_often, *rows.flat(0, len(rows)))
        push(never, *rows.flat(0, len(rows)), asks=[])
        expect(asked_often == never, "a counter differs by what it was asked")

    holds_for(case, seeded(case, (1,)), law)


@check("memory")
def check_keys_are_forgotten(make: Make, case: Case) -> None:
    """When all rows have expired, nothing is retained; a million keys seen once leave a small counter."""
    backend = make(longest=100)
    for start in range(0, 200_000, 20_000):
        times = np.arange(start, start + 20_000)
        further: dict[str, Any] = {"values": times.astype(np.uint64)} if backend.measure == "distinct" else {}
        backend.update(times, times.astype(np.uint64), **further)
    size = backend.nbytes
    expect(size < 1 << 20, f"200,000 keys, 100 of them in the window, leave {size} bytes")
    backend.advance(backend.now + 101)
    expect_equal(len(backend), 0, "items retained when all has expired")
