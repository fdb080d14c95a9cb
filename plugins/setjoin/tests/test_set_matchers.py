"""The set matchers report equal matches, at sizes beyond brute force, and keep the sets that they must."""

import numpy as np
import pytest
import skyband
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband import ConfigError, SnapshotError, snapshot
from skyband_setjoin.conformance import oracle
from skyband_setjoin.conformance.driver import plain, sets_of
from skyband_setjoin.conformance.streams import drifting, stream_of, zipf
from skyband_setjoin.matching.bands import bands_for
from skyband_setjoin.matching.bounds import SIZES, least_of, rule_of, slack_of, widest_of
from skyband_setjoin.matching.minhash_lsh import MOST_HASHES
from skyband_setjoin.matching.prefix_kernels import take
from skyband_specs.pair_ranker.oracle import SIMILARITIES

EXACT = ("prefix", "inverted", "scan-count")
EVERY = (*EXACT, "minhash-lsh")
THRESHOLDS = {"overlap": 6.0, "hamming": -8.0}


def matcher(name, **keys):
    return skyband.create("set-matcher", name, **keys)


def feed(backend, stream, start, stop):
    times = np.arange(start, stop) if backend.by == "rows" else stream.times[start:stop]
    return backend.update(times, *stream.flat(start, stop), stream.sides[start:stop] if backend.sides == 2 else None)


def fed(backend, stream, batch=1000):
    """The matches of each set of the stream, row by row, with the columns as lists."""
    answers = [feed(backend, stream, start, min(start + batch, len(stream))) for start in range(0, len(stream), batch)]
    return [match for answer in answers for match in plain(answer)]


# Sets of a few tokens at few times, so that ties, repeats, empty sets and mass expiry are frequent.
SETS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.lists(st.integers(0, 4), max_size=5)), min_size=1, max_size=25
)


@given(
    SETS,
    st.sampled_from(EXACT),
    st.sampled_from([0.3, 0.5, 2 / 3, 1.0]),
    st.integers(1, 8),
    st.sampled_from(["jaccard", "cosine", "dice", "containment"]),
    st.sampled_from(["all", 1, 3]),
    st.sampled_from([("all", 1), ("all", 2), ("first", 1)]),
    st.sampled_from(["time", "rows"]),
)
@settings(max_examples=300, deadline=None)
def test_matches_equal_those_of_comparing_all_sets(rows, name, threshold, window, similarity, matches, kept, by):
    keep, sides = kept
    keys = {"threshold": threshold, "window": window, "similarity": similarity, "matches": matches, "keep": keep}
    keys |= {"sides": sides, "by": by}
    steps, _, sets = zip(*rows, strict=True)
    stream = stream_of([list(chosen) for chosen in sets], np.cumsum(steps).tolist())
    times = range(len(rows)) if by == "rows" else stream.times.tolist()
    wanted = oracle.matches(keys, times, sets_of(stream), stream.sides.tolist())
    assert fed(matcher(name, **keys), stream, 4) == wanted


@pytest.mark.parametrize("keep", ["all", "first"])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_exact_matchers_agree_on_larger_windows_to_the_last_bit(similarity, keep):
    stream = zipf(3, 6000, universe=3000, back=400)
    keys = {"window": 900, "similarity": similarity, "keep": keep, "threshold": THRESHOLDS.get(similarity, 0.6)}
    matchers = [matcher(name, **keys) for name in EXACT]
    for start in range(0, len(stream), 500):
        first, *others = (feed(backend, stream, start, start + 500) for backend in matchers)
        for other in others:
            assert all((mine == its).all() for mine, its in zip(first, other, strict=True))
        assert len({len(backend) for backend in matchers}) == 1
        assert len({snapshot.decode(backend.snapshot()).arrays["tokens"].tobytes() for backend in matchers}) == 1
    assert sum(map(len, fed(matcher("prefix", **keys), stream))) > 100


@pytest.mark.parametrize("sizes", [[8], [7, 8, 9, 12]])
def test_sets_without_a_rare_token_are_matched_in_long_lists(sizes):
    rng = np.random.default_rng(len(sizes))
    stream = stream_of([rng.choice(16, rng.choice(sizes), replace=False).tolist() for _ in range(3000)])
    found, wanted = (fed(matcher(name, window=900, threshold=0.75), stream) for name in ("prefix", "scan-count"))
    assert found == wanted
    assert sum(map(len, found)) > 3000


@pytest.mark.parametrize("name", EVERY)
def test_a_flood_of_equal_sets_costs_no_more_than_its_answers(name):
    """`keep = "first"` holds one of 5000 equal sets; the k earliest in the window are reported."""
    n = 5000
    rows = np.arange(n), np.arange(n + 1) * 3, np.tile([5, 9, 14], n)
    backend = matcher(name, threshold=0.8, window=n, keep="first", by="rows")
    cuts, earlier, similarity = backend.update(*rows)
    assert (len(backend), cuts[-1]) == (1, n - 1)
    assert (earlier == 0).all()
    assert (similarity == 1.0).all()
    backend = matcher(name, threshold=0.8, window=40, matches=2, by="rows")
    assert plain(backend.update(*rows))[-1] == [(n - 40, 1.0), (n - 39, 1.0)]


@pytest.mark.parametrize("name", EVERY)
def test_memory_shrinks_after_a_burst(name):
    backend = matcher(name, threshold=0.8, window=100)
    quiet = backend.nbytes
    n = 20_000
    backend.update(np.zeros(n, np.int64), np.arange(n + 1) * 3, np.arange(3 * n))
    assert backend.nbytes > 500_000
    for moment in range(200, 60_000, 200):
        backend.update([moment], [0, 1], [moment])
    assert len(backend) == 1
    assert backend.nbytes < quiet + 200_000


@pytest.mark.parametrize("name", EVERY)
def test_memory_shrinks_after_a_burst_without_new_rows(name):
    backend = matcher(name, threshold=0.8, window=100)
    quiet = backend.nbytes
    backend.update(np.zeros(5000, np.int64), np.arange(5001) * 3, np.arange(15_000))
    for moment in range(200, 2000, 200):
        backend.advance(moment)
    assert backend.nbytes < quiet + 50_000


def test_sets_that_can_match_nothing_are_not_held():
    backend = matcher("prefix", threshold=3, window=100, similarity="overlap")
    backend.update([0, 1, 2], [0, 2, 5, 5], [1, 2, 1, 2, 3])
    assert (len(backend), backend.seen) == (1, 3)


def test_the_index_does_not_grow_with_ever_new_words():
    backend = matcher("prefix", threshold=0.6, window=200)
    stream = drifting(1, 12_000, 100)
    sizes = []
    for start in range(0, len(stream), 1000):
        feed(backend, stream, start, start + 1000)
        sizes.append(backend.nbytes)
    assert max(sizes[4:]) <= 2 * max(sizes[:4])


@pytest.mark.parametrize("name", EVERY)
def test_set_numbers_may_exceed_32_bits(name):
    """Lists keep only the low half of a number."""
    stream, start = zipf(6, 1500, universe=300, back=100), 2**32 - 700
    plain_one, late = (matcher(name, threshold=0.6, window=250) for _ in range(2))
    late._sets.marks[:2] = start
    late._seen = start
    for row in range(0, len(stream), 60):
        told, later = (plain(feed(backend, stream, row, min(row + 60, 1500))) for backend in (plain_one, late))
        assert later == [[(number + start, score) for number, score in matches] for matches in told]
        late = skyband.restore(late.snapshot()) if row == 600 else late


@pytest.mark.parametrize("name", EVERY)
def test_an_impossible_state_is_refused_before_a_kernel_runs(name):
    backend = matcher(name, threshold=0.5, window=100)
    feed(backend, zipf(1, 300, universe=200), 0, 300)
    held = snapshot.decode(backend.snapshot())
    damages = {
        "tokens": lambda array: array[:-1],
        "sizes": lambda array: np.concatenate([array[:1] + 1, array[1:]]),
        "times": lambda array: array[::-1],
        "numbers": lambda array: array + 10**6,
        "sides": lambda array: array + 1,
        "seen": lambda array: array * 0,
        "now": lambda array: array + 10**6,
    }
    for column, damage in damages.items():
        arrays = {**held.arrays, column: damage(held.arrays[column])}
        with pytest.raises(SnapshotError):
            skyband.restore(snapshot.encode(held.header, arrays))
    unsorted = held.arrays["tokens"].copy()
    unsorted[:2] = unsorted[1]
    with pytest.raises(SnapshotError):
        skyband.restore(snapshot.encode(held.header, {**held.arrays, "tokens": unsorted}))


def test_the_kernel_is_compiled_once_for_all_inputs():
    """Read-only arrays, such as Arrow's, are another type to numba, and a compilation takes seconds."""
    backend = matcher("prefix", threshold=0.5, window=100)
    columns = [np.arange(2), np.array([0, 2, 4]), np.array([1, 2, 2, 3])]
    backend.update(*columns)
    for column in columns:
        column.flags.writeable = False
        backend.update(columns[0] + backend.now, *columns[1:])
    skyband.restore(backend.snapshot()).update([9], [0, 1], [4])
    matcher("prefix", threshold=0.1, window=100, similarity=lambda o, n, m: o / (n * m)).update(*columns)
    assert len(take.signatures) == 1


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_bounds_are_the_least_overlap_that_matches(similarity):
    function = SIMILARITIES[similarity]
    for threshold in (2.0, 9.0) if similarity == "overlap" else (-9.0, 0.0) if similarity == "hamming" else (0.55, 1.0):
        rule = rule_of(similarity, threshold)
        sizes = [1, 2, 3, 20, 99, 100, SIZES - 1, SIZES, 700]
        for n in sizes:
            subsets = [o for o in range(1, n + 1) if function(o, n, o) >= threshold]
            assert least_of.py_func(rule, n) == min(subsets, default=n + 1)
            for m in sizes:
                enough = [o for o in range(1, min(n, m) + 1) if function(o, n, m) >= threshold]
                assert slack_of.py_func(rule, n, m) == (n + m - 2 * enough[0] if enough else -1)


@pytest.mark.parametrize(
    ("similarity", "threshold", "longest"),
    [("jaccard", 0.97, 530), ("jaccard", 0.8, 900), ("containment", 0.5, 900), ("hamming", -9.0, 530)],
)
def test_no_match_has_more_tokens_in_one_set_only_than_widest(similarity, threshold, longest):
    """Also for sets larger than the tables; for sets that none of these matches, the bound is not too large."""
    rule = rule_of(similarity, threshold)
    for n in [1, 7, 12, 100, 400, 505, SIZES - 1, SIZES, 520]:
        slacks = [slack_of.py_func(rule, n, m) for m in range(1, longest)]
        assert widest_of.py_func(rule, n) >= max(slacks)
        if n < SIZES and slacks[SIZES - 2] < 0:
            assert widest_of.py_func(rule, n) == max(slacks)


@pytest.mark.parametrize("recall", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0])
def test_bands_reach_the_recall(threshold, recall):
    bands, rows = bands_for(threshold, recall, MOST_HASHES)
    assert 1 - (1 - threshold**rows) ** bands >= recall - 1e-12
    assert bands * rows <= 64 or rows == 1


def test_minhashes_support_jaccard_only():
    with pytest.raises(ConfigError, match=r"^similarity: must be 'jaccard': .* use prefix or inverted"):
        matcher("minhash-lsh", threshold=0.5, window=10, similarity="cosine")


@pytest.mark.parametrize("name", EXACT)
def test_similarities_of_sets_of_about_65536_tokens_are_right(name):
    sizes = [65_534, 65_535, 65_536, 65_537, 65_536, 90_000, 60_000]
    stream = stream_of([list(range(size)) for size in sizes], list(range(len(sizes))))
    for similarity, threshold in (("jaccard", 0.999), ("jaccard", 0.7), ("hamming", -1.0), ("overlap", 65_535.0)):
        keys = {"threshold": threshold, "window": 10, "similarity": similarity}
        alike = {
            "jaccard": lambda one, other: min(one, other) / max(one, other),
            "hamming": lambda one, other: -float(abs(one - other)),
            "overlap": lambda one, other: float(min(one, other)),
        }[similarity]
        scores = [[(old, alike(size, sizes[old])) for old in range(row)] for row, size in enumerate(sizes)]
        wanted = [[match for match in row if match[1] >= threshold] for row in scores]
        assert fed(matcher(name, **keys), stream) == wanted, similarity
