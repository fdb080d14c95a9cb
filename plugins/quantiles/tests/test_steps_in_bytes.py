"""Steps in bytes bound every distance that the steps do, and little else: rounded outwards, and few."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from skyband.errors import SnapshotError
from skyband_quantiles.distances import Steps, below, kolmogorov_smirnov
from skyband_quantiles.steps_in_bytes import MOST_INTERVALS, MOST_VALUES, from_bytes, to_bytes

CUTS = (0.5, 2.0)
_ENDS = some.one_of(
    some.floats(allow_nan=False), some.floats(-3, 3), some.integers(-2000, 2000).map(float), some.sampled_from([-0.0])
)


@some.composite
def any_steps(draw):
    """Disjoint intervals of one value or of many, with sure rows and others, perhaps counted above numbers."""
    seed = draw(some.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    count = draw(some.sampled_from([1, 2, 5, 40, 700, 1500]))
    ends = np.unique(np.array(draw(some.lists(_ENDS, min_size=1, max_size=9))) + 0.0)
    if count > 5:
        ends = np.unique(np.concatenate([ends, rng.lognormal(0, draw(some.sampled_from([1e-9, 1, 40])), count)]))
    points = draw(some.booleans())
    least, largest = (ends, ends) if points or len(ends) % 2 else (ends[::2], ends[1::2])
    maybe = rng.integers(0, 3, len(least)) * draw(some.integers(0, 1))
    sure = np.maximum(rng.integers(0, 9, len(least)) * rng.integers(0, 2, len(least)), maybe == 0)
    above = {}
    for cut in CUTS if draw(some.booleans()) else ():
        where = least > cut
        if (where == (largest > cut)).all():
            above[cut] = int(sure[where].sum()), int(maybe[where].sum()), float(maybe[where].sum()) / 2
    return Steps(least, largest, sure, maybe, maybe / 2, above)


def above_if_known(steps, cut):
    rows = below(steps, np.array([cut]))
    known = rows.sure == rows.sure_at_most and rows.maybe == rows.maybe_at_most
    return (steps.sure.sum() - rows.sure[0], steps.maybe.sum() - rows.maybe[0]) if known else None


@settings(deadline=None)
@given(any_steps(), some.booleans())
def test_more_is_possible_after_a_round_trip_and_nothing_less(steps, all_values):
    back = from_bytes(*to_bytes(steps, CUTS, all_values), CUTS)
    assert (back.sure.sum(), back.maybe.sum()) == (steps.sure.sum(), steps.maybe.sum())
    numbers = np.unique(np.concatenate([steps.least, steps.largest, back.least, back.largest, CUTS]))
    ours, theirs = below(steps, numbers), below(back, numbers)
    assert (theirs.sure <= ours.sure).all() and (ours.sure_at_most <= theirs.sure_at_most).all()
    assert (theirs.maybe <= ours.maybe).all() and (ours.maybe_at_most <= theirs.maybe_at_most).all()
    assert (np.diff(back.least) >= 0).all() and (np.diff(back.largest) >= 0).all()
    likely = 0.5 * steps.maybe.sum()
    assert back.likely.sum() == pytest.approx(likely, abs=1e-5 * likely)
    for cut, (_, perhaps, probably) in back.above.items():
        assert probably == pytest.approx(perhaps / 2, abs=1e-5 * perhaps), cut
    known = (steps.least == steps.largest).all()
    if known and (all_values or len(steps.least) <= MOST_VALUES):
        assert np.array_equal(back.least, steps.least) and np.array_equal(back.largest, steps.largest)
        assert np.array_equal(back.sure, steps.sure) and np.array_equal(back.maybe, steps.maybe)
    else:
        assert len(back.least) <= MOST_INTERVALS
    for cut in CUTS:
        known_above = [above_if_known(one, cut) for one in (steps, back)]
        assert known_above[0] == known_above[1], "counts that are known stay known"


def test_ends_are_rounded_only_as_far_as_the_buckets_of_the_default():
    """So rounding widens a bound by no more than the bucket around each number."""
    rng = np.random.default_rng(0)
    for spread in (1e-12, 0.01, 1.0, 30.0):
        values = np.unique(rng.lognormal(0, spread, 5_000))
        steps = Steps(values, values, np.ones(len(values), int), np.zeros(len(values), int), np.zeros(len(values)), {})
        back = from_bytes(*to_bytes(steps, ()), ())
        _, low, high = kolmogorov_smirnov(steps, back)
        assert low == 0 and high <= 2.1 / MOST_INTERVALS
        middle = (back.largest - back.least).sum() / (values[-1] - values[0])
        assert middle <= 1.05


@given(any_steps(), some.data())
@settings(deadline=None)
def test_other_bytes_are_steps_of_another_window_or_refused(steps, data):
    values, encoded = to_bytes(steps, CUTS)
    kind = data.draw(some.integers(0, 2))
    if kind == 0:
        encoded = encoded.copy()
        encoded[data.draw(some.integers(0, len(encoded) - 1))] ^= data.draw(some.integers(1, 255))
    elif kind == 1:
        encoded = encoded[: data.draw(some.integers(0, len(encoded) - 1))]
    else:
        values = np.append(values, data.draw(some.floats()))
    try:
        back = from_bytes(values, encoded, CUTS)
    except SnapshotError:
        return
    _, low, high = kolmogorov_smirnov(steps, back)
    assert 0 <= low <= high <= 1
    assert (back.least <= back.largest).all() and (back.sure + back.maybe > 0).all()


@pytest.mark.parametrize("shift", [0, 30, 46])
def test_infinities_stay_infinite_and_finite_values_finite(shift):
    ends = np.array([-np.inf, -1.5, 0.0, 1.7e308, np.inf]) if shift else np.array([-np.inf, np.inf])
    few = Steps(ends, ends, np.ones(len(ends), int), np.zeros(len(ends), int), np.zeros(len(ends)), {})
    wide = Steps(
        np.array([-np.inf, -4.0, 1.0]), np.array([-np.inf, -3.0, 1.79e308]), *np.ones((2, 3), int), np.zeros(3), {}
    )
    assert np.array_equal(from_bytes(*to_bytes(few, ()), ()).least, ends)
    back = from_bytes(*to_bytes(wide, ()), ())
    assert (
        back.least[0] == back.largest[0] == -np.inf and np.isfinite(back.largest[-1]) and back.largest[-1] >= 1.79e308
    )
