"""An object with exactly the written share or total is in the answer, and one with less is not."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import skyband
from hypothesis import example, given
from hypothesis import strategies as st
from skyband.engines import local
from skyband.kernels.nested import kernel_njit
from skyband_totals.share_kernels import least_total
from skyband_totals.shares import least_estimate, least_of, least_units, most_objects

BACKENDS = ("exact", "misra-gries", "k-skb", "frequent-items-panes")
ROUNDED_UP = [(7, 100, 0.07), (7, 50, 0.14), (7, 25, 0.28), (55, 100, 0.55), (29, 100, 0.29), (1, 10, 0.1)]
"""(rows, share): in float64, share times rows is above the exact number for the first five."""
SHARES = st.floats(min_value=0, max_value=1, exclude_min=True) | st.integers(1, 10**6).map(
    lambda number: number / 10**6
)
GRANDS = st.integers(0, 2**63 - 1) | st.integers(0, 10_000).map(lambda number: number * 100)


@kernel_njit
def compiled(share, grand):
    return least_total(share, grand)


@given(SHARES, GRANDS)
@example(1.0, 2**63 - 1)
@example(5e-324, 2**63 - 1)
@example(0.9999999999999999, 2**63 - 1)
@example(1e-18, 10**18)
def test_the_least_total_is_exact(share, grand):
    written, asked = Fraction(repr(share)), least_of(share)
    least = max(-(-written * grand // 1), 1)
    assert Fraction(asked.numerator, 10**asked.places) == written
    assert compiled(asked, grand) == least_units(asked, grand) == least
    estimate = least_estimate(asked, float(grand))
    assert Fraction(np.nextafter(estimate, -1)) < max(written * Fraction(float(grand)), 1) <= Fraction(estimate)
    assert most_objects(share) == min(1 // written, 2**62)


def rows_of(part, total, groups, weight):
    """Rows of object 0 in each group, and others of objects with at most half as many."""
    objects = [0] * part + [1 + place % 9 for place in range(total - part)]
    every = [(group, key) for group in range(groups) for key in objects]
    return pa.table(
        {
            "ts": pa.array(np.zeros(len(every), np.int64), pa.timestamp("us")),
            "group": [group for group, _ in every],
            "object": [key for _, key in every],
            "weight": [weight] * len(every),
        }
    )


@pytest.mark.parametrize("by", [[], ["group"]], ids=["one group", "small groups"])
@pytest.mark.parametrize("name", BACKENDS)
def test_an_object_with_exactly_the_share_is_in_the_answer(name, by):
    for part, total, share in ROUNDED_UP:
        for keys in ({}, {"total": "sum", "weight": "weight", "unit": 0.1}):
            table = rows_of(part, total, 3 if by else 1, 0.3)
            query = {"kind": "heavy-hitters", "time": "ts", "object": "object", "share": share, "by": by, **keys}
            answers = local.apply(
                table, {**query, "windows": ["1 day"], "every": "1 day"}, {"total-ranker": name}
            ).to_pylist()
            assert sum(answer["object"] == 0 for answer in answers) == len({*table["group"].to_pylist()})
            above = {**query, "share": float(np.nextafter(share, 1)), "windows": ["1 day"], "every": "1 day"}
            answers = local.apply(table, above, {"total-ranker": name}).to_pylist()
            assert not any(answer["object"] == 0 for answer in answers)


@pytest.mark.parametrize("name", BACKENDS)
def test_the_share_limits_the_number_of_objects(name):
    """1 / 0.00001 is below 100,000 in float64: the limit follows the decimal too."""
    ranker = skyband.create("total-ranker", name, windows=[100], every=1, share=0.00001)
    assert ranker.limit >= 100_000


UNITS = st.sampled_from([1.0, 0.1, 0.7, 0.01, 0.25, 3.0, 2.0**-20, 1e-9])


@given(st.floats(min_value=0, max_value=1e12, exclude_min=True) | st.integers(1, 10**6).map(lambda n: n / 100), UNITS)
@example(2.1, 0.7)
@example(0.3, 0.1)
@example(1e300, 0.1)
@example(5e-324, 3.0)
def test_the_least_units_follow_the_decimals(at_least, unit):
    """2.1 / 0.7 is above 3 in float64."""
    units, written = least_of(None, at_least, unit).units, Fraction(repr(at_least)) / Fraction(repr(unit))
    assert 1 <= units <= 2**63 - 1
    assert units >= min(written, 2**63 - 1)
    assert units == 1 or units - 1 < written


@pytest.mark.parametrize("by", [[], ["group"]], ids=["one group", "small groups"])
@pytest.mark.parametrize("name", BACKENDS)
def test_an_object_with_exactly_the_total_is_in_the_answer(name, by):
    """Three rows of 0.7 are 2.1, unlike three times that float."""
    for part in (1, 3, 7, 11):
        table = rows_of(part, 40, 3 if by else 1, 0.7)
        query = {"kind": "heavy-hitters", "time": "ts", "object": "object", "by": by, "total": "sum"}
        query |= {"weight": "weight", "unit": 0.7, "windows": ["1 day"], "every": "1 day"}
        for at_least, there in ((part * 7 / 10, True), ((part + 1) * 7 / 10, False)):
            answers = local.apply(table, {**query, "at_least": at_least}, {"total-ranker": name}).to_pylist()
            groups = len({*table["group"].to_pylist()})
            assert sum(answer["object"] == 0 for answer in answers) == there * groups
            assert all(answer["high"] >= at_least for answer in answers)
