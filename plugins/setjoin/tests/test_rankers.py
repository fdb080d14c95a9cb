"""The three rankers answer as if all pairs were compared, and keep the pairs that the definition requires."""

import itertools

import numpy as np
import pytest
import skyband
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband import SnapshotError
from skyband.kernels import kskyband_kernels
from skyband_setjoin.sets import normalise
from skyband_setjoin.stock_answers import best_of
from skyband_setjoin.swoop_kernels import take
from skyband_specs.pair_ranker.oracle import minimal_stock, pairs
from skyband_specs.pair_ranker.streams import PairStream, bursts, zipf

NAMES = ("base", "scase", "swoop")
SIMILARITIES = ("jaccard", "cosine", "dice", "overlap", "hamming")


def feed(ranker, stream, start, stop):
    offsets, tokens = stream.flat(start, stop)
    times = np.arange(start, stop) if ranker.by == "rows" else stream.times[start:stop]
    ranker.update(times, offsets, tokens, stream.sides[start:stop] if ranker.sides == 2 else None)


def answer(ranker):
    return list(zip(*(column.tolist() for column in ranker.top()), strict=True))


def stock(ranker):
    len(ranker)
    return ranker._stock.items().tolist()


def ranked(found):
    return [(pair.left, pair.right, pair.similarity) for pair in found]


# Sets of a few tokens at few times, so that ties, repeats, empty sets and mass expiry are frequent.
SETS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.lists(st.integers(0, 4), max_size=5)), min_size=1, max_size=25
)


@given(
    SETS,
    st.integers(1, 4),
    st.integers(1, 8),
    st.sampled_from(SIMILARITIES),
    st.integers(1, 2),
    st.sampled_from(["time", "rows"]),
    st.sampled_from(["shortest", "first-seen"]),
)
@settings(max_examples=300, deadline=None)
def test_swoop_equals_all_pairs_after_every_set(rows, k, window, similarity, sides, by, order):
    chosen = {"k": k, "window": window, "similarity": similarity, "sides": sides, "by": by}
    steps, side, sets = zip(*rows, strict=True)
    stream = PairStream(np.cumsum(steps), np.array(side, np.int8), tuple(np.array(s, np.int64) for s in sets))
    swoop = skyband.create("pair-ranker", "swoop", order=order, **chosen)
    for row in range(len(stream)):
        feed(swoop, stream, row, row + 1)
        assert answer(swoop) == ranked(pairs(chosen, stream, row + 1, swoop.now)[:k])
    assert [(s, left, right) for s, _, left, right in stock(swoop)] == [
        (pair.similarity, pair.left, pair.right) for pair in minimal_stock(chosen, stream, len(stream), swoop.now)
    ]


@pytest.mark.parametrize("name", ["scase", "swoop"])
@pytest.mark.parametrize("sides", [1, 2])
def test_stock_is_minimal_after_a_flush(name, sides):
    chosen = {"k": 4, "window": 15, "sides": sides}
    stream = bursts(7)
    ranker = skyband.create("pair-ranker", name, **chosen)
    for start in range(0, len(stream), 9):
        stop = min(start + 9, len(stream))
        feed(ranker, stream, start, stop)
        wanted = minimal_stock(chosen, stream, stop, ranker.now)
        assert stock(ranker) == [(pair.similarity, pair.end, pair.left, pair.right) for pair in wanted]


def test_base_keeps_every_valid_pair():
    chosen = {"k": 2, "window": 15}
    stream = bursts(8)
    ranker = skyband.create("pair-ranker", "base", **chosen)
    feed(ranker, stream, 0, len(stream))
    assert len(ranker) == len(pairs(chosen, stream, len(stream), ranker.now))


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("k", [1, 30])
def test_all_agree_on_larger_windows_to_the_last_bit(similarity, k):
    stream = zipf(3, 1500, universe=3000, back=400)
    chosen = {"k": k, "window": 600, "similarity": similarity}
    rankers = [skyband.create("pair-ranker", name, **chosen) for name in ("scase", "swoop")]
    rankers.append(skyband.create("pair-ranker", "swoop", order="first-seen", **chosen))
    for start in range(0, len(stream), 250):
        for ranker in rankers:
            feed(ranker, stream, start, start + 250)
        assert answer(rankers[0]) == answer(rankers[1]) == answer(rankers[2])
        assert stock(rankers[0]) == stock(rankers[1]) == stock(rankers[2])


def crowded(seed, sides, most, gaps):
    """900 sets that share one token and have few others, many at one time: (times, offsets, tokens, sides)."""
    rng = np.random.default_rng(seed)
    sets = [np.append(rng.choice(most + 3, rng.integers(0, most), replace=False) + 1, 0) for _ in range(900)]
    offsets = np.append(0, np.cumsum([len(tokens) for tokens in sets]))
    side = rng.integers(0, 2, 900).astype(np.int8) if sides == 2 else None
    return np.cumsum(rng.choice(gaps, 900)), offsets, np.concatenate(sets), side


@pytest.mark.parametrize("similarity", ["jaccard", "overlap", "hamming", "containment"])
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize(("most", "gaps"), [(1, [1]), (4, [0, 0, 0, 1]), (12, [1]), (30, [0]), (6, [0] * 60 + [90])])
def test_a_token_that_all_sets_share_changes_no_answer(similarity, sides, most, gaps):
    for k in (1, 5):
        chosen = {"k": k, "window": 400, "similarity": similarity, "sides": sides}
        rankers = [skyband.create("pair-ranker", name, **chosen) for name in ("scase", "swoop")]
        times, offsets, tokens, side = crowded(k, sides, most, gaps)
        for start, stop in ((0, 300), (300, 301), (301, 650), (650, 900)):
            cuts = offsets[start : stop + 1]
            rows = times[start:stop], cuts - cuts[0], tokens[cuts[0] : cuts[-1]]
            for ranker in rankers:
                ranker.update(*rows, *([] if side is None else [side[start:stop]]))
            assert answer(rankers[0]) == answer(rankers[1])
            assert stock(rankers[0]) == stock(rankers[1])


@pytest.mark.parametrize("similarity", ["jaccard", "hamming"])
@pytest.mark.parametrize(("universe", "sizes"), [(10, [5]), (16, [3, 8, 9]), (24, [12]), (24, [8, 12, 16])])
def test_frequent_answers_over_sets_without_a_rare_token(similarity, universe, sizes):
    rng = np.random.default_rng(universe)
    sets = [rng.choice(universe, rng.choice(sizes), replace=False) for _ in range(900)]
    offsets, tokens = np.append(0, np.cumsum([len(some) for some in sets])), np.concatenate(sets)
    chosen = {"k": 4, "window": 600, "similarity": similarity}
    slow, fast = (skyband.create("pair-ranker", name, **chosen) for name in ("scase", "swoop"))
    moments = np.arange(0, 900, 7)
    for wanted, found in zip(*(r.answers(np.arange(900), offsets, tokens, moments) for r in (slow, fast)), strict=True):
        assert found.tolist() == wanted.tolist()
    assert stock(fast) == stock(slow)


def test_an_answer_after_every_one_of_identical_sets():
    """The stock has k pairs per set, and is not flushed for every answer."""
    ranker = skyband.create("pair-ranker", "swoop", k=3, window=300)
    moments = np.arange(600)
    cuts, left, right, score = ranker.answers(moments, np.arange(601) * 2, np.tile([5, 9], 600), moments)
    for moment, (start, stop) in enumerate(itertools.pairwise(cuts.tolist())):
        first = max(0, moment - 300)
        pairs = [(a, b) for a in (first, first + 1, first + 2) for b in range(a + 1, min(a + 4, moment + 1))][:3]
        assert list(zip(left[start:stop].tolist(), right[start:stop].tolist(), strict=True)) == pairs
    assert (score == 1).all()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30),
    st.integers(1, 12),
    st.integers(0, 9),
)
@settings(max_examples=200, deadline=None)
def test_the_best_pairs_are_the_same_without_a_flush(flushed, waiting, k, horizon):
    band = kskyband_kernels.new(k, 64)
    for some in (flushed, waiting):
        band = kskyband_kernels.flush(band)
        for key, (score, end) in enumerate(some):
            kskyband_kernels.add(band, score, end, len(some) - key, key)
    best = np.zeros(2 + k, kskyband_kernels.ITEM)
    end = best_of(band, horizon, best, 2)
    wanted = kskyband_kernels.topk(kskyband_kernels.flush(band), k, horizon)
    assert best[2:end].tolist() == wanted.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_hundreds_of_identical_sets(name):
    ranker = skyband.create("pair-ranker", name, k=3, window=150, by="rows")
    n = 400
    ranker.update(np.arange(n), np.arange(n + 1) * 2, np.tile([5, 9], n))
    assert answer(ranker) == [(250, 251, 1.0), (250, 252, 1.0), (250, 253, 1.0)]
    if name != "base":
        assert len(ranker) == 3 * 147 + 2 + 1


def test_window_and_index_are_the_same_after_one_batch_and_many_snapshots():
    stream = zipf(5, 2000, universe=500)
    whole, parts = (skyband.create("pair-ranker", "swoop", k=5, window=300) for _ in range(2))
    feed(whole, stream, 0, 2000)
    for start in range(0, 2000, 37):
        feed(parts, stream, start, min(start + 37, 2000))
        parts = skyband.restore(parts.snapshot())
    assert parts.snapshot() == whole.snapshot()
    assert answer(parts) == answer(whole)


@pytest.mark.parametrize("shared", [0, 1, 3])
def test_memory_shrinks_after_a_burst(shared):
    ranker = skyband.create("pair-ranker", "swoop", k=2, window=100)
    quiet = ranker.nbytes
    n = 20_000
    tokens = np.arange(3 * n).reshape(n, 3) + 10
    tokens[:, :shared] = np.arange(shared)
    times = np.arange(n) // 200  # so that the burst expires gradually
    ranker.update(times, np.arange(n + 1) * 3, tokens.ravel())
    assert ranker.nbytes > 500_000
    for moment in range(100, 3000, 50):
        ranker.update([moment], [0, 4], [0, 1, 2, moment + 3 * n + 10])
    assert ranker.nbytes < quiet + 200_000
    assert answer(ranker) == [(n + 55, n + 56, 0.6), (n + 55, n + 57, 0.6)]


@pytest.mark.parametrize("name", NAMES)
def test_memory_shrinks_after_a_burst_without_new_rows(name):
    ranker = skyband.create("pair-ranker", name, k=2, window=100)
    quiet = ranker.nbytes
    n = 2000
    ranker.update(np.zeros(n, np.int64), np.arange(n + 1) * 3, np.arange(3 * n))
    for moment in range(200, 2000, 200):
        ranker.advance(moment)
    assert ranker.nbytes < quiet + 20_000


def test_a_set_of_many_tokens():
    ranker = skyband.create("pair-ranker", "swoop", k=2, window=100)
    many = np.arange(100_000)
    ranker.update([0, 1, 2], [0, 100_000, 200_000, 200_001], np.concatenate([many, many[::-1] + 1, [7]]))
    assert answer(ranker) == [(0, 1, 99_999 / 100_001), (0, 2, 1 / 100_000)]


def test_a_damaged_snapshot_is_refused():
    ranker = skyband.create("pair-ranker", "swoop", k=2, window=100)
    blob = bytearray(ranker.snapshot())
    blob[-20] ^= 1
    with pytest.raises(SnapshotError):
        skyband.restore(bytes(blob))


def test_set_numbers_may_exceed_32_bits():
    """Lists keep only the low half of a number."""
    stream, start = zipf(6, 1200, universe=300, back=100), 2**32 - 700
    plain, late = (skyband.create("pair-ranker", "swoop", k=6, window=250) for _ in range(2))
    late._sets.marks[:2] = start
    late._seen = start
    for row in range(0, 1200, 60):
        for ranker in (plain, late):
            feed(ranker, stream, row, row + 60)
        assert answer(late) == [(left + start, right + start, score) for left, right, score in answer(plain)]
        late = skyband.restore(late.snapshot()) if row == 600 else late


def test_the_kernel_is_compiled_once_for_all_inputs():
    """Read-only arrays, such as Arrow's, are another type to numba, and a compilation takes seconds."""
    ranker = skyband.create("pair-ranker", "swoop", k=2, window=100)
    columns = [np.arange(2), np.array([0, 2, 4]), np.array([1, 2, 2, 3])]
    ranker.update(*columns)
    for column in columns:
        column.flags.writeable = False
        ranker.update(columns[0] + ranker.now, *columns[1:])
    ranker.answers([5, 6], [0, 1, 2], [8, 8], [5, 7])
    ranker.top()
    skyband.restore(ranker.snapshot()).update([9], [0, 1], [4])
    skyband.create("pair-ranker", "swoop", k=2, window=100, similarity=lambda o, n, m: o / (n * m)).update(*columns)
    assert len(take.signatures) == 1
    assert all(column.flags.writeable is False for column in columns)


@pytest.mark.parametrize("size", [0, 1, 2, 48, 49, 50, 127, 1000])
def test_tokens_are_sorted_and_made_distinct(size):
    rng = np.random.default_rng(size)
    for low, high in ((0, 5), (-(2**63), 2**63 - 1)):
        tokens = rng.integers(low, high, size + 6)
        scratch = np.empty(size, np.int64)
        distinct, _ = normalise(tokens, 3, 3 + size, scratch)
        assert scratch[:distinct].tolist() == sorted(set(tokens[3 : 3 + size].tolist()))
