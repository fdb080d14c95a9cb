import itertools

import numpy as np
import pytest
from skyband_specs.sketch.oracle import distinct_since, last_seen
from skyband_specs.sketch.streams import (
    SketchStream,
    bursts,
    paper_random,
    paper_zipf,
    random_keys,
    spread,
    tiny,
)


def test_the_oracle_on_a_stream_done_by_hand():
    stream = SketchStream(np.array([1, 5, 3, 5]), np.array([7, 8, 7, 9], np.uint64))
    assert last_seen(stream, 4) == {7: 3, 8: 5, 9: 5}
    assert [distinct_since(stream, 4, since) for since in (0, 1, 3, 4, 5, 6)] == [3, 3, 3, 2, 2, 0]
    assert distinct_since(stream, 2, 0) == 2


def test_tiny_streams_are_all_there_is():
    rows = sorted((stream.times.tolist(), stream.keys.tolist()) for stream in tiny(ordered=False))
    assert len(rows) == sum(6**length for length in range(5))
    assert all(before != after for before, after in itertools.pairwise(rows))
    assert all((np.diff(stream.times) >= 0).all() for stream in tiny(ordered=True))


def test_keys_are_spread_evenly_and_never_meet():
    keys = spread(np.arange(100_000))
    assert len(np.unique(keys)) == len(keys)
    shares = np.bincount((keys >> np.uint64(60)).astype(int), minlength=16) / len(keys)
    assert np.allclose(shares, 1 / 16, atol=0.005)


@pytest.mark.parametrize("seed", range(3))
def test_bursts_hold_ties_returns_and_the_extreme_keys(seed):
    stream = bursts(seed, ordered=True)
    assert (np.diff(stream.times) >= 0).all()
    assert len(np.unique(stream.times)) < len(stream) / 2
    assert len(np.unique(stream.keys)) < len(stream)
    assert {0, 2**64 - 1} & set(stream.keys.tolist())
    assert (np.diff(bursts(seed, ordered=False).times) < 0).any()


@pytest.mark.parametrize("generate", [paper_random, paper_zipf])
@pytest.mark.parametrize("duplication", [0.0, 0.2, 0.9])
def test_the_papers_streams_have_their_duplication(generate, duplication):
    stream = generate(1, 2000, duplication)
    assert (np.diff(stream.times) >= 0).all()
    assert len(np.unique(stream.keys)) == round(2000 * (1 - duplication))


def test_zipf_time_stamps_are_skewed():
    zipf, uniform = (np.bincount(make(1, 2000, 0.2).times).max() for make in (paper_zipf, paper_random))
    assert zipf > 20 * uniform


def test_streams_are_the_same_every_time():
    for make in (lambda: bursts(3, ordered=False), lambda: random_keys(3, 100), lambda: paper_zipf(3, 100, 0.5)):
        first, second = make(), make()
        assert (first.times == second.times).all()
        assert (first.keys == second.keys).all()
