"""Bounds contain the truth, are no wider than declared, and narrower if a sketch knows more."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from skyband_specs.batching import fed
from skyband_specs.binomial import allowed_failures
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.driver import Case

from skyband_quantiles.conformance.oracle import QuantileOracle, rank
from skyband_quantiles.conformance.plain_data import ABOVE, AT, plain
from skyband_quantiles.conformance.streams import (
    NumberStream,
    any_bits,
    bursts,
    different,
    ends_of_buckets,
    lognormal,
    silence_then_burst,
    steady,
    stream,
)

COUNT = 8
FLAKE = 1e-9
TRIALS = 400
LONG = 600
"""The length of a window with thousands of rows."""
MOST_PANES = 512


def _large() -> Iterator[tuple[str, NumberStream]]:
    yield "latencies", lognormal(3, 9000, 12)
    yield "drift", steady(6000, 12)
    yield "any bits", any_bits(7, 4000, 8)
    yield "bursts", bursts(9, 5000)
    yield "falling", stream(np.arange(5000) // 8, 1e6 - np.arange(5000.0))
    yield "millis", NumberStream(*_millis())
    yield "a silence, then a burst", silence_then_burst()
    yield "ends of buckets", ends_of_buckets()


def _millis() -> tuple[Any, Any]:
    rows = lognormal(4, 8000, 10)
    return rows.times, stream(rows.times, np.rint(rows.values)).values


def _asked(backend: Any, seed: int = 1) -> list[int]:
    """Moments since which all rows are kept: random ones, near and far, and borders with their neighbours."""
    rng = np.random.default_rng([41, seed])
    ages = np.exp(rng.uniform(0, np.log(backend.longest), 12)).astype(np.int64)
    borders = (backend.now - ages[:4] * 3 - backend.offset) // backend.every * backend.every + backend.offset
    instants = {*(backend.now - ages).tolist(), *(border + step for border in borders.tolist() for step in (-1, 0, 1))}
    return sorted(since for since in instants if backend.now - backend.longest <= since <= backend.now)


def _fed(make: Make, case: Case, rows: NumberStream, **parameters: Any) -> Any:
    backend = make(longest=LONG, **parameters)
    case.driver.feed(backend, rows, 0, len(rows))
    return backend


def _delta(backend: Any) -> float:
    return float(getattr(backend, "delta", 0.0))


def _summarises(make: Make) -> bool:
    """Whether the sketch declares an error of values, `alpha`, and of the number of rows, `epsilon`."""
    backend = make()
    return backend.by == "time" and hasattr(backend, "alpha")


@check("oracle", guarantees=("exact", "bounded"))
def check_bounds_hold_the_truth(make: Make, case: Case) -> None:
    """Every low <= truth <= high: of quantiles, shares and counts, since any moment, whatever the numbers.

    Always, or in all but a share `delta` of the answers where the backend has such a parameter.
    """
    if make().by == "rows":
        return
    if _delta(make()):
        misses = [fault for seed in range(TRIALS) for fault in [_one_fault(make, case, seed)] if fault]
        allowed = allowed_failures(TRIALS, _delta(make()), FLAKE)
        expect(len(misses) <= allowed, f"{len(misses)} of {TRIALS} are wrong, at most {allowed} may be: {misses[:1]}")
        return
    for label, rows in _large():
        oracle = QuantileOracle(rows.times, rows.values)
        for backend in (_fed(make, case, rows), fed(make, case, rows)):
            for since in _asked(backend):
                expect_equal(_fault(backend, oracle, since), "", f"{label}, since {since}")


def _fault(backend: Any, oracle: QuantileOracle, since: int) -> str:
    """What is wrong with an answer; empty if nothing."""
    rows, values, shares = oracle.answer(since, 2**64, AT, ABOVE)
    _, low, high = backend.count(since)
    if not low <= rows <= high:
        return f"there are {rows} rows, the bounds are {low} to {high}"
    for target, got, truth in (
        (AT, backend.quantiles(since, AT), values),
        (ABOVE, backend.shares(since, ABOVE), shares),
    ):
        for name, (_, low, high), (true, *_) in zip(target, got.tolist(), truth, strict=True):
            if not low <= true <= high:
                return f"of {name} the truth is {true}, the bounds are {low} to {high}"
    return ""


def _one_fault(make: Make, case: Case, seed: int) -> str:
    """The fault of a single answer for a separate stream."""
    rows = lognormal(1000 + seed, 400, 4)
    backend = make(longest=1000, seed=seed)
    case.driver.feed(backend, rows, 0, len(rows))
    since, q = (0, 20, 45)[seed % 3], (0.5, 0.9, 0.95, 0.99)[seed % 4]
    (true,) = QuantileOracle(rows.times, rows.values).quantiles(since, 2**64, [q])
    _, low, high = backend.quantile(since, q)
    return "" if low <= float(true or 0) <= high else f"the {q}-quantile is {true}, the bounds are {low} to {high}"


@check("oracle", guarantees=("bounded",))
def check_errors_are_as_declared(make: Make, case: Case) -> None:
    """With `alpha`, no value is off by more if it is known which rows count; without, ranks except for `delta`."""
    if make().by == "rows":
        return
    if not hasattr(make(), "alpha"):
        _check_ranks(make, case)
        return
    alpha, values_compared = make().alpha, 0
    for label, rows in _large():
        backend = _fed(make, case, rows)
        oracle = QuantileOracle(rows.times, rows.values)
        for since in _asked(backend, 2):
            _, low, high = backend.count(since)
            if low < high:
                continue
            values_compared += 1
            truth = oracle.quantiles(since, 2**64, AT)
            for q, (value, *_), true in zip(AT, backend.quantiles(since, AT).tolist(), truth, strict=True):
                near = true is not None and (value == true or abs(value - true) <= alpha * abs(true) + 2.0**-1022)
                expect(near, f"{label}, since {since}: the {q}-quantile is {true}, got {value}, alpha {alpha}")
    expect(values_compared > 10, "there was no moment since which all rows are known")


def _check_ranks(make: Make, case: Case) -> None:
    epsilon, delta = make().epsilon, _delta(make())
    misses = 0
    for seed in range(TRIALS // 2):
        rows = lognormal(5000 + seed, 400, 4)
        backend = make(longest=1000, seed=seed)
        case.driver.feed(backend, rows, 0, len(rows))
        values = QuantileOracle(rows.times, rows.values).inside(0, 2**64)
        q = (0.1, 0.5, 0.9)[seed % 3]
        found = int(np.searchsorted(values, backend.quantile(0, q)[0])) + 1
        misses += abs(found - rank(q, len(values))) > epsilon * len(values) + 1
    allowed = allowed_failures(TRIALS // 2, delta, FLAKE)
    expect(misses <= allowed, f"{misses} of {TRIALS // 2} ranks are off by more than epsilon, at most {allowed} may be")


@check("oracle", guarantees=("bounded",))
def check_counts_are_exact_at_borders(make: Make, case: Case) -> None:
    """Since each multiple of `every`, up to 512 of them, it is known which rows count, however old."""
    if not _summarises(make) or MOST_PANES * make().every < LONG:
        return
    for label, rows in _large():
        backend = _fed(make, case, rows)
        oracle = QuantileOracle(rows.times, rows.values)
        first = -(-(backend.now - backend.longest - backend.offset) // backend.every)
        last = (backend.now - backend.offset) // backend.every
        for step in range(first, last + 1):
            since = step * backend.every + backend.offset
            count = float(len(oracle.inside(since, 2**64)))
            expect_equal(backend.count(since), (count,) * 3, f"{label}: rows since the border {since}")


@check("oracle", guarantees=("bounded",))
def check_rows_of_unknown_side_are_few(make: Make, case: Case) -> None:
    """Since any moment at most `epsilon` of the rows may be before it or after it."""
    if not _summarises(make):
        return
    for label, rows in _large():
        backend = _fed(make, case, rows)
        oracle = QuantileOracle(rows.times, rows.values)
        for since in range(backend.now - backend.longest, backend.now + 1):
            _, low, high = backend.count(since)
            most = backend.epsilon * len(oracle.inside(since, 2**64))
            expect(high - low <= most, f"{label}: {high - low} rows of unknown side since {since}, {most} may be")


@check("oracle", guarantees=("bounded",))
def check_bounds_are_no_wider(make: Make, case: Case) -> None:
    """Bounds are off by as many ranks as there are rows of unknown side, and by the width of a bucket in values."""
    if not _summarises(make):
        return
    alpha = make().alpha
    wide = 1 + 2 * alpha / (1 - alpha) + 1e-12
    for label, rows in _large():
        if label in ("any bits", "bursts", "drift"):
            continue
        backend = _fed(make, case, rows)
        oracle = QuantileOracle(rows.times, rows.values)
        for since in _asked(backend, 3):
            _, low, high = backend.count(since)
            values, unknown = oracle.inside(since, 2**64), int(high - low)
            for q, (_, least, most) in zip(AT, backend.quantiles(since, AT).tolist(), strict=True):
                place = rank(q, len(values)) - 1
                below, above = place - (unknown + 1 if unknown else 0), place + (unknown + 1 if unknown else 0)
                if below >= 0:
                    expect(least >= values[below] / wide, f"{label}, since {since}: low of {q} is {least}")
                if above < len(values):
                    expect(most <= values[above] * wide, f"{label}, since {since}: high of {q} is {most}")


@check("oracle", guarantees=("bounded",))
def check_few_different_values_are_exact(make: Make, case: Case) -> None:
    """Up to 1024 different values are kept exactly, although buckets of one per cent would not separate them."""
    if not _summarises(make):
        return
    for values in (20, 1000):
        rows = different(6000, values, 10)
        backend = _fed(make, case, rows)
        oracle = QuantileOracle(rows.times, rows.values)
        for since in _asked(backend, 4):
            _, low, high = backend.count(since)
            if low == high:
                truth = [(value,) * 3 for value in oracle.quantiles(since, 2**64, AT)]
                expect_equal(plain(backend.quantiles(since, AT)), truth, f"of {values} different values since {since}")


@check("oracle")
def check_equal_rows_have_one_quantile(make: Make, case: Case) -> None:
    """If all rows have the same value, every quantile is exactly that, since any moment."""
    if make().by == "rows":
        return
    for value in (0.0, -7.25, 1e-310, 123456.789):
        backend = _fed(make, case, stream(np.arange(5000) // 8, np.full(5000, value)))
        for since in _asked(backend, 5):
            answers = plain(backend.quantiles(since, [0.01, 0.5, 0.99]))
            if _delta(backend):  # a sample bounds no extreme
                expect_equal([row[0] for row in answers], [value] * 3, f"quantiles of rows of {value} since {since}")
            else:
                expect_equal(answers, [(value,) * 3] * 3, f"quantiles of rows of {value} since {since}")


@check("oracle", guarantees=("bounded",))
def check_shares_above_known_limits_are_exact_at_borders(make: Make, case: Case) -> None:
    """For limits known in advance, `cuts`, the share above is exact if it is known which rows count."""
    if not _summarises(make):
        return
    rows = lognormal(6, 9000, 12)
    cuts = (39.9, 400.0)
    backend = _fed(make, case, rows, cuts=cuts)
    oracle = QuantileOracle(rows.times, rows.values)
    for since in _asked(backend, 6):
        _, low, high = backend.count(since)
        truth = oracle.shares(since, 2**64, cuts)
        for (value, least, most), true in zip(backend.shares(since, cuts).tolist(), truth, strict=True):
            expect(least <= true <= most, f"the share since {since} is {true}, its bounds {least} to {most}")
            expect(low < high or value == least == most, f"since {since}: {value} is not exact, {least} to {most}")
