"""Prices of 32-bit FLOAT are summed in cents like those of DOUBLE."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband.engines import local
from skyband.queries import make_query
from skyband_totals.fixed_point import worth
from skyband_totals.narrow_floats import as_multiples
from skyband_totals.units import NOT_A_MULTIPLE, VALID, to_units

MOST = {"float": 131_072, "halffloat": 16}
"""Up to here, adjacent floats are less than a cent apart."""


@pytest.mark.parametrize("kind", [pa.float32(), pa.float16()], ids=str)
@pytest.mark.parametrize("unit", [0.01, 0.05, 0.1, 1.0])
@given(data=st.data())
def test_each_multiple_of_the_unit_counts_as_itself(kind, unit, data):
    most = int(MOST[str(kind)] / unit * min(unit / 0.01, 1))
    units = np.array(data.draw(st.lists(st.integers(0, most - 1), min_size=1)))
    prices = np.asarray(worth(units, unit)).astype(kind.to_pandas_dtype()).astype(float)
    counted, codes = to_units(as_multiples(prices, kind, unit), unit)
    assert (codes == VALID).all()
    assert counted.tolist() == units.tolist()
    assert (as_multiples(-prices, kind, unit) == -as_multiples(prices, kind, unit)).all()


def test_ambiguous_floats_and_other_values_are_still_refused():
    prices = np.array([200_000.01, 12.345, np.nan, np.inf, 200_000.0], np.float32).astype(float)
    values = as_multiples(prices, pa.float32(), 0.01)
    np.testing.assert_array_equal(values, prices)
    codes = to_units(values, 0.01)[1]
    assert (codes[0], codes[1], codes[4]) == (NOT_A_MULTIPLE, NOT_A_MULTIPLE, VALID)
    doubles = np.array([0.1 + 1e-9])
    assert as_multiples(doubles, pa.float64(), 0.01) is doubles


@pytest.mark.parametrize(
    "query",
    [
        {"kind": "heavy-hitters", "object": "who", "total": "sum", "weight": "price", "k": 3, "every": "1 hour"},
        {"kind": "row-features", "by": ["who"], "sums": ["price"]},
    ],
    ids=lambda query: query["kind"],
)
def test_prices_of_float_have_the_answers_of_double(query):
    prices = np.round(np.random.default_rng(0).uniform(0, 500, 55), 2)
    rows = pa.table({"ts": pa.array(range(55), pa.timestamp("s")), "who": [f"w{n % 4}" for n in range(55)]})
    asked = make_query({"time": "ts", "windows": ["1 hour"], "unit": 0.01, **query})
    answers = [
        local.apply(rows.append_column("price", pa.array(prices, kind)), asked) for kind in (pa.float32(), pa.float64())
    ]
    assert answers[0].equals(answers[1])
    assert len(answers[0])
    assert "FLOAT" in " ".join(asked.promises.values())
