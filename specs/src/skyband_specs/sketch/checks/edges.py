"""Moments: which side of them counts, and the order in which they may arrive."""

import numpy as np

from skyband_specs.batching import fed, seeded, visible
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.sketch.driver import moments
from skyband_specs.sketch.streams import SketchStream, spread

COUNT = 10
BATCH = 2048
MOST_EXACT = 5000
"""The most keys for which a sketch's claim to be exact is checked."""
MARKED = 31
"""Rows of a batch with their own key."""
LAST = 2**63 - 1
FIRST = -LAST
"""The times a sketch takes: −2^63 stands for "never"."""


@check("edges", needs=("any-since",))
def check_since_is_inclusive(make: Make, case: Case) -> None:
    """A key seen at t counts since t and before, and no longer since t + 1, for any t."""
    for time in (0, 1, -1, 10**18, -(10**18), FIRST, LAST):
        backend = make()
        backend.update(np.array([time]), spread(np.array([time % 1000])))
        expect(backend.estimate(time) > 0, f"one key seen at {time}, yet the estimate since {time} is 0")
        expect(backend.estimate(FIRST) > 0, f"one key seen at {time}, yet the estimate since {FIRST} is 0")
        if time < LAST:
            expect_equal(backend.estimate(time + 1), 0.0, f"one key seen at {time}, estimate since {time + 1}")


@check("edges", needs=("any-since",))
def check_times_far_apart(make: Make, case: Case) -> None:
    """The first and the last possible time, in one stream: no difference of times overflows."""
    times = np.array([FIRST, FIRST + 1, -1, 0, LAST - 1, LAST])
    stream = SketchStream(times, spread(np.arange(len(times))))

    def law(rows: SketchStream) -> None:
        backend = fed(make, case, rows)
        if case.has("snapshot"):
            backend = case.restore(backend.snapshot())
        counts = [backend.estimate(int(time)) for time in rows.times]
        expect(all(counts), f"keys seen at {rows.times.tolist()} and estimates since then {counts}: one is 0")
        expect_equal(counts, sorted(counts, reverse=True), f"estimates since {rows.times.tolist()}")

    holds_for(case, [stream], law)


@check("edges")
def check_empty_sketch_counts_nothing(make: Make, case: Case) -> None:
    """Without a row, every estimate is 0 and `now` is None."""
    backend = make()
    expect_equal(backend.now, None, "now of a new sketch")
    ends = [moment // backend.grain * backend.grain for moment in (FIRST, 0, LAST)]
    expect_equal([backend.estimate(since) for since in ends], [0.0] * 3, "estimates of a new sketch")


@check("edges")
def check_one_call_agrees_with_two(make: Make, case: Case) -> None:
    """The estimate and its bounds are the same together and separately, for small and large counts."""

    def law(stream: SketchStream) -> None:
        backend = fed(make, case, stream)
        for since in moments(stream, backend.grain):
            apart = (backend.estimate(since), *backend.bounds(since))
            expect_equal(backend.estimate_with_bounds(since), apart, f"estimate_with_bounds since {since}")

    holds_for(case, seeded(case), law)


@check("edges", guarantees=("exact",))
def check_later_moments_count_less(make: Make, case: Case) -> None:
    """The estimate never rises with the start of the window."""

    def law(stream: SketchStream) -> None:
        backend = fed(make, case, stream)
        instants = moments(stream, backend.grain)
        counts = [backend.estimate(since) for since in instants]
        expect_equal(counts, sorted(counts, reverse=True), f"estimates since {instants}")

    holds_for(case, seeded(case), law)


@check("edges")
def check_repeated_rows_change_nothing(make: Make, case: Case) -> None:
    """Rows that were seen before, at the same times, leave no trace."""

    def law(stream: SketchStream) -> None:
        rows = stream if case.has("out-of-order") else SketchStream(np.zeros_like(stream.times), stream.keys)
        once = visible(case, fed(make, case, rows), rows, len(rows))
        again = fed(make, case, rows)
        case.driver.feed(again, rows, 0, len(rows))
        expect_equal(visible(case, again, rows, len(rows)), once, "all rows given twice")

    holds_for(case, seeded(case), law)


@check("edges")
def check_every_row_of_a_batch_counts(make: Make, case: Case) -> None:
    """In a long batch of one key, a row with another counts wherever it is: at the end of a block, or next to it."""
    marked = MARKED if case.info.guarantee == "exact" else min(MARKED, make().exact_up_to - 1)
    if marked < 1:
        return
    apart = -(-BATCH // marked)
    for first in range(apart):
        rows = np.arange(first, BATCH, apart)
        keys = np.zeros(BATCH, np.int64)
        keys[rows] = 1 + np.arange(len(rows))
        backend = make()
        backend.update(np.arange(BATCH) // 7, spread(keys))
        message = f"keys in a batch of {BATCH} rows, a new one at every {apart}th from {first} on"
        expect_equal(backend.estimate(0), float(len(np.unique(keys))), message)


@check("edges")
def check_as_many_keys_as_are_exact(make: Make, case: Case) -> None:
    """With exactly `exact_up_to` keys, arriving repeatedly, every count and bound is exact."""
    most = min(make().exact_up_to, MOST_EXACT)
    for seed in range(3 if most > 0 else 0):
        rng = np.random.default_rng([23, seed])
        again = rng.permutation(most)[: most // 2]
        numbers = np.concatenate([rng.permutation(most), again, again[: most // 5]]) + seed * 10**6
        backend = make()
        times, keys = np.arange(len(numbers)) // (1 + seed) * backend.grain, spread(numbers)
        if case.has("out-of-order") and seed:
            order = rng.permutation(len(numbers))
            backend.update(times[order], keys[order])
        else:
            for start in range(0, len(numbers), 37):
                backend.update(times[start : start + 37], keys[start : start + 37])
        for since in sorted({0, *times[rng.integers(0, len(times), 12)].tolist(), int(times[-1]) + backend.grain}):
            count = float(len(np.unique(numbers[times >= since])))
            got = (backend.estimate(since), *backend.bounds(since))
            expect_equal(got, (count, count, count), f"of {most} keys, those since {since}")


@check("edges", needs=("any-since",))
def check_a_bitmap_tells_what_the_sketch_does(make: Make, case: Case) -> None:
    """If it has a bitmap, the cells filled since a moment determine its estimate and bounds, to the bit."""
    bitmap, few = make().bitmap(), make().exact_up_to
    if bitmap is None:
        return
    expect(bitmap.width % 64 == 0, f"the width of the bitmap must be a multiple of 64 (got {bitmap.width})")
    for seed, most in enumerate((few + 1, few + 2, 2 * few + 5, MOST_EXACT)):
        rng = np.random.default_rng([29, seed])
        keys = spread(np.concatenate([rng.permutation(most), rng.integers(0, most, 50)]) + seed * 10**6)
        backend = make()
        backend.update(np.arange(len(keys)), keys)
        for since in sorted({0, *rng.integers(0, len(keys) - few, 8).tolist()}):
            young = np.unique(keys[since:])
            cells = np.unique(bitmap.cells(young))
            filled = np.bincount(cells // bitmap.width, minlength=bitmap.rows)
            if len(young) <= few:
                continue
            expected = backend.estimate_with_bounds(since)
            by_cells = tuple(bitmap.estimates(filled[np.newaxis].astype(np.int64))[0].tolist())
            expect_equal(by_cells, expected, f"of {most} keys, {len(young)} since {since}: by the cells they fill")


@check("edges", needs=("out-of-order",))
def check_order_does_not_matter(make: Make, case: Case) -> None:
    """Rows in any order give the same sketch."""

    def law(stream: SketchStream) -> None:
        expected = visible(case, fed(make, case, stream), stream, len(stream))
        ascending = np.argsort(stream.times, kind="stable")
        for label, order in (("in order of time", ascending), ("in reverse", ascending[::-1])):
            got = visible(case, fed(make, case, stream.take(order)), stream, len(stream))
            expect_equal(got, expected, f"the rows {label}")

    holds_for(case, seeded(case), law)
