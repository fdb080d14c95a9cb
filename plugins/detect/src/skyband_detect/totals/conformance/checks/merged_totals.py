"""Two key-totals become one of both streams."""

import numpy as np
from skyband.errors import InputError
from skyband_specs.batching import seeded, visible
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_detect.conformance.streams import MomentStream, stream
from skyband_detect.totals.conformance.plain_data import push

COUNT = 3


@check("merge", needs=("merge",))
def check_totals_of_shards_merge(make: Make, case: Case) -> None:
    """Backends of different keys merge to that of all keys, in either order; the other stays as it is."""

    def law(rows: MomentStream) -> None:
        whole, parts = make(), [make(), make()]
        whole_rows = rows.flat(0, len(rows))
        push(whole, *whole_rows, asks=[])
        for number, part in enumerate(parts):
            own = whole_rows[1] % np.uint64(2) == number
            times, keys, values = (column[own] for column in whole_rows)
            push(part, times, keys, values, asks=[])
        before = parts[1].snapshot()
        for one, two in ((0, 1), (1, 0)):
            merged = case.restore(parts[one].snapshot())
            merged.merge(parts[two])
            if len(rows):
                merged.advance(whole.now)
            got, expected = (visible(case, backend, rows, len(rows)) for backend in (merged, whole))
            expect_equal(got[0], expected[0], "answers of two merged")
            expect_equal(got[2], expected[2], "items retained by two merged")
        expect(parts[1].snapshot() == before, "merging changed the other backend")

    holds_for(case, seeded(case), law)


@check("merge", needs=("merge",), guarantees=("exact",))
def check_values_of_one_key_merge(make: Make, case: Case) -> None:
    """Backends with different rows of the same keys merge to that of all rows, in either order."""

    def law(rows: MomentStream) -> None:
        whole, parts = make(), [make(), make()]
        push(whole, *rows.flat(0, len(rows)), asks=[])
        for number, part in enumerate(parts):
            own = rows.take(np.arange(number, len(rows), 2))
            push(part, *own.flat(0, len(own)), asks=[])
        for one, two in ((0, 1), (1, 0)):
            merged = case.restore(parts[one].snapshot())
            merged.merge(parts[two])
            got, expected = (case.driver.answers(backend, rows, len(rows)) for backend in (merged, whole))
            expect_equal(got, expected, "answers of two merged")

    holds_for(case, seeded(case), law)


@check("merge", needs=("merge",))
def check_only_equal_totals_merge(make: Make, case: Case) -> None:
    """Another window is refused, and leaves no trace; an empty backend adds nothing."""
    backend, other = make(), make(longest=make().longest + 1)
    rows = stream([1, 2], [[(1, 1)], [(2, 2)]])
    push(backend, *rows.flat(0, 2), asks=[])
    before = backend.snapshot()
    try:
        backend.merge(other)
    except InputError:
        backend.merge(make())
        expect(backend.snapshot() == before, "a merge that adds nothing changed the backend")
        return
    raise AssertionError("a backend with another window was merged")
