"""A merged ranker is the ranker of both streams."""

from functools import partial
from typing import Any

import numpy as np
from skyband_specs.batching import fed, seeded, visible
from skyband_specs.check import Make, check, expect_equal, expect_inputs_refused
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_totals.conformance.driver import beginnings
from skyband_totals.conformance.expectations import expect_exact, fault_of
from skyband_totals.conformance.oracle import TotalOracle
from skyband_totals.conformance.plain_data import rows_of
from skyband_totals.conformance.streams import TotalStream

COUNT = 4


@check("merge", needs=("merge",))
def check_merged_is_the_ranker_of_both_streams(make: Make, case: Case) -> None:
    """Rows and weights of both add up, values unite; bounded backends keep their bounds. The other one is unchanged."""

    def law(rows: TotalStream) -> None:
        if make().by == "rows":
            return
        parts = _parts(rows)
        left, right = (fed(make, case, part) for part in parts)
        before = visible(case, right, rows, 0)
        left.merge(right)
        expect_equal(visible(case, right, rows, 0), before, "the other one, after the merge")
        oracle = TotalOracle(case.parameters, [row for part in parts for row in rows_of(left, part, len(part))])
        expect_equal(left.now, max((row[0] for row in oracle.rows), default=None), "now, merged")
        for begin in beginnings(left, left.grain):
            _expect_right(case, left, oracle, begin, "merged")

    holds_for(case, seeded(case), law)


@check("merge", needs=("merge",))
def check_merged_goes_on(make: Make, case: Case) -> None:
    """An empty ranker merged with one that has merged older rows has all of them, can be restored, and is separate."""

    def law(rows: TotalStream) -> None:
        merged = make()
        if merged.by == "rows":
            return
        cut = len(rows) * 2 // 3
        near = np.flatnonzero(rows.times[:cut] >= rows.times[:cut].max(initial=0) - merged.longest // 2)
        early, late = (rows.take(part) for part in np.array_split(near, 2))
        rest = rows.take(np.arange(cut, len(rows)))
        other = fed(make, case, late)
        other.merge(fed(make, case, early))
        merged.merge(other)
        whole = [row for part in (early, late) for row in rows_of(merged, part, len(part))]
        oracle = TotalOracle(case.parameters, whole)
        for begin in beginnings(merged, merged.grain):
            _expect_right(case, merged, oracle, begin, "merged with one that was merged")
        before = visible(case, merged, rows, 0)
        if case.has("snapshot"):
            restored = case.restore(merged.snapshot())
            expect_equal(visible(case, restored, rows, 0), before, "merged and restored")
        case.driver.feed(other, rest, 0, len(rest))
        expect_equal(visible(case, merged, rows, 0), before, "merged, after the other one continued")

    holds_for(case, seeded(case), law)


def _expect_right(case: Case, backend: Any, oracle: TotalOracle, begin: int, label: str) -> None:
    """Exact totals equal those of the oracle, and certain bounds hold; other checks cover uncertain bounds."""
    top = backend.since(begin)
    if case.info.guarantee == "exact":
        expect_exact(top, oracle.answer(begin, 2**63), f"{label}, since {begin}")
    elif not getattr(backend, "delta", 0.0):
        expect_equal(fault_of(top, oracle.totals(begin, 2**63), oracle.worth(1)), "", f"{label}, since {begin}")


def _parts(rows: TotalStream) -> tuple[TotalStream, TotalStream]:
    """The rows distributed to two streams; every fifth goes to both."""
    lots = (rows.times * 31 + rows.objects * 7 + rows.values.view(np.int64)) % 5
    return rows.take(np.flatnonzero(lots != 0)), rows.take(np.flatnonzero(lots <= 1))


@check("merge", needs=("merge",), guarantees=("exact",))
def check_merge_has_no_order(make: Make, case: Case) -> None:
    """Merging is commutative and associative, and an empty ranker changes nothing."""

    def law(rows: TotalStream) -> None:
        if make().by == "rows":
            return
        deal = np.arange(len(rows)) % 3
        parts = [rows.take(np.flatnonzero(deal == part)) for part in range(3)]
        orders = ((0, 1, 2), (1, 0, 2), (2, 1, 0))
        states = []
        for order in orders:
            first, *others = (fed(make, case, parts[part]) for part in order)
            for other in (*others, make()):
                first.merge(other)
            states.append(visible(case, first, rows, 0))
        grouped, tail = fed(make, case, parts[0]), fed(make, case, parts[1])
        tail.merge(fed(make, case, parts[2]))
        grouped.merge(tail)
        for got in (*states[1:], visible(case, grouped, rows, 0)):
            expect_equal(got, states[0], "merged in another order")

    holds_for(case, seeded(case), law)


@check("merge", needs=("merge",))
def check_merge_refuses_other_rankers(make: Make, case: Case) -> None:
    """Another class, other parameters and windows in rows raise InputError and change nothing."""
    rows = case.driver.seeded(case, 1)
    backend = fed(make, case, rows)
    strangers = [("longer windows", make(windows=[2 * length for length in backend.windows])), ("a number", 7)]
    strangers += [("a larger k", make(k=(backend.k or 1) + 1))]
    strangers += [("windows in rows", fed(make, case, rows))] if backend.by == "rows" else []
    merges = [(label, partial(backend.merge, other)) for label, other in strangers]
    expect_inputs_refused(merges, lambda: visible(case, backend, rows, len(rows)))
