"""Entries sorted by group and key, compared with numpy."""

import numpy as np
import pytest
from skyband.kernels import grouped_order
from skyband.kernels.grouped_order import order_by_group


@pytest.mark.parametrize("groups", [0, 1, 9, 400])
@pytest.mark.parametrize("most", [1, 47, 48, 49, 700])
@pytest.mark.parametrize("bits", [3, 16, 64])
def test_it_is_that_of_lexsort(groups, most, bits, monkeypatch):
    monkeypatch.setattr(grouped_order, "_NOT_WORTH", 0)
    rng = np.random.default_rng([groups, most, bits])
    sizes = rng.integers(0, most + 1, groups)
    keys = rng.integers(0, 2**bits - 1, int(sizes.sum()), dtype=np.uint64, endpoint=True)
    assert np.array_equal(order_by_group(sizes, keys), np.lexsort([keys, np.repeat(np.arange(groups), sizes)]))
