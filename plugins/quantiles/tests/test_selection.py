"""Selecting within a queue by bins finds the value of the right rank, whatever the numbers."""

import numpy as np
import skyband
from hypothesis import example, given, settings
from hypothesis import strategies as st
from skyband_quantiles.conformance.oracle import QuantileOracle

AT = (0.0, 0.07, 0.5, 0.51, 0.95, 0.99, 1.0)
NEAR = [1 + place * 2.0**-52 for place in range(70)]
NUMBERS = st.floats(allow_nan=False) | st.sampled_from([5e-324, -5e-324, 0.0, 1.7e308, -1.7e308]) | st.integers(0, 9)


@given(st.lists(NUMBERS, min_size=64, max_size=120))
@example([5e-324 * place for place in range(100)])
@example([-1.7e308, *NEAR, 1.7e308])
@example([-np.inf, *NEAR, np.inf])
@example([*NEAR, 1e300])
@settings(deadline=None, max_examples=150)
def test_quantiles_of_a_queue(numbers):
    values, times = np.array(numbers, np.float64), np.arange(len(numbers))
    sketch = skyband.create("quantile-sketch", "exact", longest=1000)
    sketch.update(times, values)
    for since in (0, len(numbers) // 3):
        truth = QuantileOracle(times, values).quantiles(since, 2**62, AT)
        assert sketch.quantiles(since, AT)[:, 0].tolist() == truth
