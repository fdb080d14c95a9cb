"""The sketch of two streams: merged, it is that of both."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from skyband_specs.batching import fed, seeded, visible
from skyband_specs.check import Make, check, expect, expect_equal, expect_inputs_refused
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_quantiles.conformance.driver import beginnings
from skyband_quantiles.conformance.oracle import QuantileOracle, rank
from skyband_quantiles.conformance.plain_data import ABOVE, AT, asked_since
from skyband_quantiles.conformance.streams import NumberStream, different, lognormal, of_uneven_paces

COUNT = 5
PARTS = 8
LONG = 500
END = 1001


@check("merge", needs=("merge",))
def check_merged_is_the_sketch_of_both_streams(make: Make, case: Case) -> None:
    """The rows of both count; bounded backends keep their bounds. The other sketch is unchanged."""

    def law(rows: NumberStream) -> None:
        if make().by == "rows":
            return
        for parts in (_dealt(rows), _cut(rows), _cut(rows)[::-1]):
            left, right = (fed(make, case, part) for part in parts)
            before = visible(case, right, rows, 0)
            left.merge(right)
            expect_equal(visible(case, right, rows, 0), before, "the other one, after the merge")
            expect_equal(left.now, int(rows.times[-1]) if len(rows) else None, "now, merged")
            for since in beginnings(left):
                _expect_right(case, left, rows, since, "merged")

    holds_for(case, seeded(case), law)


@check("merge", needs=("merge",))
def check_merged_goes_on(make: Make, case: Case) -> None:
    """An empty one merged with one that was merged with older rows has all of them, is restored, and is its own."""

    def law(rows: NumberStream) -> None:
        mine = make()
        if mine.by == "rows":
            return
        cut = len(rows) * 2 // 3
        early, late = (rows.take(part) for part in np.array_split(np.arange(cut), 2))
        rest = rows.take(np.arange(cut, len(rows)))
        other = fed(make, case, late)
        other.merge(fed(make, case, early))
        mine.merge(other)
        for since in beginnings(mine):
            _expect_right(case, mine, rows.take(np.arange(cut)), since, "merged with one that was merged")
        before = visible(case, mine, rows, 0)
        if case.has("snapshot"):
            restored = case.restore(mine.snapshot())
            expect_equal(visible(case, restored, rows, 0), before, "merged and restored")
        case.driver.feed(other, rest, 0, len(rest))
        expect_equal(visible(case, mine, rows, 0), before, "merged, when the other one went on")
        for since in beginnings(other):
            _expect_right(case, other, rows, since, "merged, after more rows")

    holds_for(case, seeded(case), law)


@check("merge", needs=("merge",))
def check_merge_commutes(make: Make, case: Case) -> None:
    """Merging two sketches in either order gives the same bytes; an empty one changes nothing."""

    def law(rows: NumberStream) -> None:
        if make().by == "rows":
            return
        left, right = (fed(make, case, part) for part in _dealt(rows))
        whole, turned, lonely, begun = (
            fed(make, case, _dealt(rows)[0]),
            fed(make, case, _dealt(rows)[1]),
            make(),
            make(),
        )
        whole.merge(right)
        turned.merge(left)
        expect_equal(visible(case, turned, rows, 0), visible(case, whole, rows, 0), "merged the other way round")
        before = visible(case, left, rows, 0)
        left.merge(lonely)
        expect_equal(visible(case, left, rows, 0), before, "merged with an empty one")
        begun.merge(left)
        expect_equal(visible(case, begun, rows, 0), before, "an empty one merged with it")

    holds_for(case, seeded(case, (1, 2)), law)


@check("merge", needs=("merge",))
def check_united_counts_stay_near(make: Make, case: Case) -> None:
    """However many are united, and unions again, few rows are of unknown side (`most_across`), and bounds hold.

    Of streams at an even pace, and of some that came slowly and then at once: their nodes reach back over many others.
    """
    if make().by == "rows":
        return
    even = [lognormal(60 + part, 2000 + 4000 * (part % 3), 2 + 6 * part) for part in range(PARTS)]
    even += [different(4000, 20, 20), different(6000, 1020, 10)]
    wide = {"every": LONG, **({"epsilon": 0.05} if hasattr(make(), "alpha") else {})}
    for parts, parameters in ((even, {}), (of_uneven_paces(END), wide)):
        sketches = [make(longest=LONG, **parameters) for _ in parts]
        for one, part in zip(sketches, parts, strict=True):
            case.driver.feed(one, part, 0, len(part))
            one.advance(END)
        _expect_near(_united(make, parameters, sketches), parts, 1)
        if case.has("snapshot"):
            unions = [_united(make, parameters, some) for some in (sketches[::2], sketches[1::2])]
            stored = [case.restore(union.snapshot()) for union in unions]
            _expect_near(_united(make, parameters, stored), parts, 2)


def _united(make: Make, parameters: Any, sketches: Sequence[Any]) -> Any:
    whole = make(longest=LONG, **parameters)
    for one in sketches:
        whole.merge(one)
    return whole


def _expect_near(whole: Any, parts: Sequence[NumberStream], levels: int) -> None:
    times, values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("times", "values"))
    sampled, label = getattr(whole, "delta", 0.0), f"{levels} levels of unions"
    for since in range(whole.now - LONG, whole.now, 7):
        rows = int(np.count_nonzero(times >= since))
        _, low, high = whole.count(since)
        near = bool(sampled) or low <= rows <= high
        expect(near, f"{label}: {rows} rows since {since}, the bounds are {low} to {high}")
        if hasattr(whole, "alpha"):
            most = most_across(whole.epsilon, rows, levels)
            expect(high - low <= most, f"{label}: {high - low} rows of unknown side since {since}, {most} may be")
    for since in (whole.now - LONG, whole.now - LONG // 3, whole.now - LONG // 19) if not sampled else ():
        inside = np.sort(values[times >= since])
        truth = [float(inside[rank(q, len(inside)) - 1]) if len(inside) else None for q in AT]
        for q, (_, low, high), true in zip(AT, whole.quantiles(since, AT).tolist(), truth, strict=True):
            within = true is None or low <= true <= high
            expect(within, f"{label}, since {since}: {true} is not from {low} to {high}, {q}")


@check("merge", needs=("merge",))
def check_merge_refuses_other_sketches(make: Make, case: Case) -> None:
    """Another class, or other parameters, raise InputError and change nothing; so do windows in rows."""
    rows = case.driver.seeded(case, 1)
    backend = fed(make, case, rows)
    strangers = [("a longer window", make(longest=2 * backend.longest)), ("a number", 7)]
    strangers += [("other borders", make(every=backend.every + 1)), ("other limits", make(cuts=(1.0, 3.0)))]
    strangers += [("windows in rows", fed(make, case, rows))] if backend.by == "rows" else []
    merges = [(label, partial(backend.merge, other)) for label, other in strangers]
    expect_inputs_refused(merges, lambda: visible(case, backend, rows, len(rows)))


def most_across(epsilon: float, rows: int, levels: int = 1) -> float:
    """The most rows of unknown side, of `rows` since a moment, after unions of unions: the README proves it."""
    share, others = epsilon, 0.0
    for _ in range(levels):
        share, others = (1 + share) * (1 + 2 * epsilon) - 1, (others + 32) * (1 + 2 * epsilon)
    return share * rows + others


def _dealt(rows: NumberStream) -> tuple[NumberStream, NumberStream]:
    places = np.arange(len(rows))
    return rows.take(places[places % 3 == 0]), rows.take(places[places % 3 > 0])


def _cut(rows: NumberStream) -> tuple[NumberStream, NumberStream]:
    places = np.arange(len(rows))
    return rows.take(places[len(rows) // 2 :]), rows.take(places[: len(rows) // 2])


def _expect_right(case: Case, backend: Any, rows: NumberStream, since: int, label: str) -> None:
    """Exact answers are those of the oracle, and certain bounds hold; other checks test other answers."""
    oracle = QuantileOracle(rows.times, rows.values)
    count, values, shares = oracle.answer(since, 2**64, AT, ABOVE)
    if case.info.guarantee == "exact":
        expect_equal(asked_since(backend, since)[1:], ((count,) * 3, values, shares), f"{label}, since {since}")
    elif not getattr(backend, "delta", 0.0):
        _, low, high = backend.count(since)
        expect(low <= count <= high, f"{label}, since {since}: {count} rows, the bounds are {low} to {high}")
        for got, truth in ((backend.quantiles(since, AT), values), (backend.shares(since, ABOVE), shares)):
            for (_, low, high), (true, *_) in zip(got.tolist(), truth, strict=True):
                inside = true is None or low <= true <= high
                expect(inside, f"{label}, since {since}: {true} is not from {low} to {high}")
