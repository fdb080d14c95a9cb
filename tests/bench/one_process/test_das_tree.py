"""The tree that k-skb is measured against keeps what the sweep keeps."""

import numpy as np
import pytest
from bench.one_process.das_tree import kept_rows
from bench.one_process.distinct import repeating
from hypothesis import given
from hypothesis import strategies as st
from skyband_distinct.k_skb.sweep_kernel import hash_all, sweep
from skyband_distinct.salts import salt

pytestmark = pytest.mark.slow

NOTHING = np.empty(0, np.int64), np.empty(0, np.uint64)


def swept(hashes, k):
    return sweep(np.arange(len(hashes)), hashes, *NOTHING, k, 0)[0].tolist()


@given(st.lists(st.integers(0, 30), max_size=120), st.integers(1, 9))
def test_it_keeps_the_rows_of_the_sweep(values, k):
    hashes = np.array(values, np.uint64) << np.uint64(59)
    assert kept_rows(hashes, k).tolist() == swept(hashes, k)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9, 0.99])
@pytest.mark.parametrize("k", [1, 50, 1000])
def test_it_keeps_them_over_many_rows(k, share):
    hashes = hash_all(repeating(share, 20_000), salt(k))
    assert kept_rows(hashes, k).tolist() == swept(hashes, k)
