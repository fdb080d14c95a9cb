"""Each key that falls below a bound is told once, at the moment at which a row of it becomes too old."""

from itertools import pairwise
from typing import Any

import numpy as np
from skyband_specs.batching import random_cuts, sampled, seeded
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_detect.conformance.oracle import falls_by_definition
from skyband_detect.conformance.plain_data import asks_of, falls_of, plain_falls, push_falling, rows_of
from skyband_detect.conformance.streams import MomentStream, steady, stream
from skyband_detect.role import ROWS

COUNT = 5
MOST_TINY = 300


@check("oracle", needs=("below",), guarantees=("exact",))
def check_falls_are_those_of_the_definition(make: Make, case: Case) -> None:
    """Each key that falls, with the moment and the rows that remain, in random batches, restored now and then."""

    def law(rows: MomentStream) -> None:
        backend = make()
        if backend.measure != ROWS:
            return
        asks, now = falls_of(backend.parameters()), None
        for number, (start, stop) in enumerate(pairwise((0, *random_cuts(len(rows), 3), len(rows)))):
            found = push_falling(backend, *rows.flat(start, stop)[:2])
            expected = falls_by_definition(rows_of(rows, 0, stop), asks, now, backend.now)
            expect_equal(found, expected, f"moments {start} to {stop}")
            now = backend.now
            if number % 3 == 1:
                backend = case.restore(backend.snapshot())

    holds_for(case, [*sampled(case, MOST_TINY), *seeded(case), _many(1), _many(2)], law)


@check("oracle", needs=("below",), guarantees=("exact",))
def check_falls_are_known_beforehand(make: Make, case: Case) -> None:
    """`falls` and `next_fall` say what follows if no row comes, and change nothing; `advance` leaves it behind."""

    def law(rows: MomentStream) -> None:
        backend, alone = make(), make()
        if backend.measure != ROWS:
            return
        asks = falls_of(backend.parameters())
        limits = [np.array(part, np.int64) for part in zip(*asks, strict=True)]
        for start, stop in pairwise((0, *random_cuts(len(rows), 4), len(rows))):
            push_falling(backend, *rows.flat(start, stop)[:2])
            push_falling(alone, *rows.flat(start, stop)[:2])
            if backend.now is None:
                continue
            gap = int(rows.times[stop]) - 1 - backend.now if stop < len(rows) else 2 * backend.longest
            expected = falls_by_definition(rows_of(rows, 0, stop), asks, backend.now, backend.now + gap)
            first = backend.next_fall(*limits)
            after = expected or falls_by_definition(
                rows_of(rows, 0, stop), asks, backend.now, backend.now + 2 * backend.longest
            )
            expect_equal(first, after[0][0] if after else None, "the next fall")
            for _ in range(2):
                expect_equal(plain_falls(backend.falls(backend.now + gap, *limits)), expected, f"falls after {stop}")
            expect(backend == alone, "asking for falls changed the counter")
            if gap and stop % 2:
                for counter in (backend, alone):
                    counter.advance(counter.now + gap)
                expect_equal(plain_falls(backend.falls(backend.now, *limits)), [], "falls that were left behind")

    holds_for(case, seeded(case), law)


@check("oracle", needs=("below",), guarantees=("exact",))
def check_each_fall_is_told_as_if_alone(make: Make, case: Case) -> None:
    """A bound to fall below is answered the same beside others, and beside bounds to reach."""

    def law(rows: MomentStream) -> None:
        together = make()
        if together.measure != ROWS:
            return
        asks, reached = falls_of(together.parameters()), asks_of(together.parameters())
        windows, bounds, each = (np.array(part) for part in zip(*reached, strict=True))
        further: dict[str, Any] = {"windows": windows, "at_least": bounds, "each": each}
        pieces: list[tuple[int, ...]] = []
        for start, stop in pairwise((0, *random_cuts(len(rows), 5), len(rows))):
            pieces += push_falling(together, *rows.flat(start, stop)[:2], **further)
        for number, ask in enumerate(asks):
            own = [(at, 0, *rest) for at, place, *rest in pieces if place == number]
            alone = push_falling(make(longest=ask[0], most=ask[1]), *rows.flat(0, len(rows))[:2], asks=[ask])
            expect_equal(alone, own, f"{ask} alone, and with others")

    holds_for(case, seeded(case, (1, 2)), law)


@check("edges", needs=("below",))
def check_a_row_at_the_moment_of_a_fall_counts(make: Make, case: Case) -> None:
    """A row a window after another takes its place, so that nothing falls; a tick later there is a fall before it."""
    backend = make()
    if backend.measure != ROWS:
        return
    window = backend.longest
    for gap, falls in ((window, []), (window + 1, [(window, 0, 1, 0)])):
        rows = stream([0, gap], [[(1, 0)], [(1, 0)]]).flat(0, 2)
        expect_equal(push_falling(make(), *rows[:2], asks=[(window, 1)]), falls, f"{gap} after the first row")


@check("merge", needs=("merge", "below"))
def check_falls_of_merged_counters(make: Make, case: Case) -> None:
    """Counters of different keys merge to that of all: the same keys fall next."""

    def law(rows: MomentStream) -> None:
        whole, parts = make(), [make(), make()]
        if whole.measure != ROWS or not len(rows):
            return
        times, keys, _ = rows.flat(0, len(rows))
        push_falling(whole, times, keys)
        for number, part in enumerate(parts):
            own = keys % np.uint64(2) == number
            push_falling(part, times[own], keys[own])
            if part.now is not None:
                part.advance(whole.now)
        parts[0].merge(parts[1])
        limits = [np.array(part, np.int64) for part in zip(*falls_of(whole.parameters()), strict=True)]
        got, expected = (plain_falls(one.falls(whole.now + 2 * whole.longest, *limits)) for one in (parts[0], whole))
        expect_equal(got, expected, "falls of two merged")

    holds_for(case, seeded(case), law)


def _many(seed: int) -> MomentStream:
    """Keys without end, thousands of them: more than any first table holds."""
    rows = steady(3000)
    keys = np.random.default_rng([44, seed]).integers(0, 300, 3000).astype(np.uint64)
    return MomentStream(rows.times, tuple(keys[row : row + 1] for row in range(3000)), rows.values)
