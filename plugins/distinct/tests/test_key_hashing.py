"""Keys become random bits, the same everywhere."""

import numpy as np
import scipy
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from skyband.kernels.mixing import GAMMA, mix
from skyband_distinct.salts import salt

MASK = 2**64 - 1


@njit
def mixed(words):
    out = np.empty_like(words)
    for row in range(len(words)):
        out[row] = mix(words[row])
    return out


def unmix(word):
    """The inverse of the finaliser, step by step."""
    word ^= (word >> 31) ^ (word >> 62)
    word = word * pow(0x94D049BB133111EB, -1, 2**64) & MASK
    word ^= (word >> 27) ^ (word >> 54)
    word = word * pow(0xBF58476D1CE4E5B9, -1, 2**64) & MASK
    return word ^ (word >> 30) ^ (word >> 60)


def test_it_is_the_finaliser_of_splitmix64():
    """The first outputs of the published generator from seed 0."""
    steps = np.arange(1, 4, dtype=np.uint64) * GAMMA
    assert mixed(steps).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@given(st.lists(st.integers(0, MASK), min_size=1))
def test_no_two_keys_collide(words):
    assert [unmix(int(word)) for word in mixed(np.array(words, np.uint64))] == words


def test_no_two_streams_or_seeds_share_a_salt():
    seeds = [*range(200), 2**32, 2**62, 2**63 - 1]
    assert len({int(salt(seed, stream)) for seed in seeds for stream in range(50)}) == 50 * len(seeds)


def test_plain_numbers_spread_evenly():
    """A chi-square test of the top and the bottom byte, over several salts; it fails by chance once in 10^8."""
    rows, buckets, limit = 100_000, 256, scipy.stats.chi2.isf(1e-9, 255)
    for seed in range(5):
        words = mixed(np.arange(rows, dtype=np.uint64) ^ salt(seed))
        for byte in (words >> np.uint64(56), words & np.uint64(255)):
            counts = np.bincount(byte.astype(np.int64), minlength=buckets)
            assert ((counts - rows / buckets) ** 2).sum() / (rows / buckets) < limit
