"""Lists, rings and stock in rare states: rebuilt, just full, long, and queried rarely."""

import itertools

import numpy as np
import pytest
import skyband
from skyband.kernels.kskyband_kernels import NOW, PENDING, SIZE, K
from skyband_setjoin.conformance.streams import stream_of
from skyband_setjoin.index import ARRIVALS, ENTRIES, FREE, LISTS, NONE, ROOM, TOP
from skyband_setjoin.indexed import ones
from skyband_setjoin.sets import FIRST, NEXT, SMALLEST, normalise
from skyband_setjoin.stairs import at_most
from skyband_specs.pair_ranker.oracle import pairs


def coming_and_going(seed, rows):
    """Sets of a small pool that recur, in floods at one time and after silences: lists grow, empty and return."""
    rng = np.random.default_rng([31, seed])
    pool = [rng.choice(40, rng.integers(1, 9), replace=False).tolist() for _ in range(25)]
    sets, times, time = [], [], 0
    while len(sets) < rows:
        time += int(rng.choice([0, 1, 3, 60], p=[0.6, 0.3, 0.09, 0.01]))
        chosen = pool[int(rng.integers(25)) if rng.random() < 0.8 else time % 25]
        if rng.random() < 0.3:
            chosen = [token for token in chosen if rng.random() < 0.8] + [100 + len(sets)] * int(rng.integers(2))
        sets.append(chosen)
        times.append(time)
    stream = stream_of(sets, times)
    return stream.take(np.arange(rows)), rng


def close_calls(seed, rows):
    """Large sets that differ in one to six tokens: every similarity is near the bounds."""
    rng = np.random.default_rng([32, seed])
    pool = [rng.choice(60, 30, replace=False) for _ in range(3)]
    sets, times = [], np.cumsum(rng.choice([0, 1, 2], rows, p=[0.4, 0.4, 0.2])).tolist()
    for row in range(rows):
        kept = rng.permutation(pool[int(rng.integers(3))])[rng.integers(0, 7) :].tolist()
        sets.append(kept + [1000 + row] * int(rng.integers(2)) + rng.choice(60, rng.integers(0, 3)).tolist())
    return stream_of(sets, times), rng


def ties(seed, rows):
    """Sets of two or three tokens, one of them frequent: nearly all pairs tie, and are found by that one last."""
    rng = np.random.default_rng([33, seed])
    sets = [[int(rng.integers(2)), 100 + row, *[200 + row] * int(rng.random() < 0.2)] for row in range(rows)]
    times = np.cumsum(rng.choice([0, 1, 5], rows, p=[0.3, 0.6, 0.1])).tolist()
    return stream_of(sets, times), rng


def growing(seed, rows):
    """Sets of a few shared tokens after unique ones: a pair is as similar as the bound of its list."""
    rng = np.random.default_rng([34, seed])
    pool = [list(range(5 * number, 5 * number + 2 + number % 4)) for number in range(6)]
    sets, owns = [], rng.choice(5, rows, p=[0.4, 0.2, 0.2, 0.1, 0.1])
    for row, own in enumerate(owns.tolist()):
        sets.append([*pool[int(rng.integers(6))], *range(1000 + 5 * row, 1000 + 5 * row + own)])
    return stream_of(sets, np.cumsum(rng.choice([0, 1, 2], rows, p=[0.1, 0.8, 0.1])).tolist()), rng


def check_index(index, sets, indexed_tokens=None):
    """Raise AssertionError if lists, rings, their counts and the sets are inconsistent."""
    marks, table, pool = index.marks, index.table, index.pool
    held = table[table["side"] != NONE]
    assert len(held) == marks[LISTS] <= len(table) // 2
    assert held["count"].sum() == marks[ENTRIES]
    assert (1 << held["bits"].astype(np.int64)).sum() == marks[ROOM]
    assert (held["count"] <= 1 << held["bits"].astype(np.int64)).all()
    assert (held["arrival"] < marks[ARRIVALS]).all()
    rings = [(int(row["offset"]), 1 << int(row["bits"])) for row in held]
    for bits in range(40):
        offset, known = int(marks[FREE + bits]), set()
        while offset != NONE:
            assert offset not in known
            known.add(offset)
            rings.append((offset, 1 << bits))
            offset = int(pool[offset]["signature"].view(np.int64))
    rings.sort()
    assert all(offset + room <= after for (offset, room), (after, _) in itertools.pairwise(rings))
    assert all(offset + room <= marks[TOP] <= len(pool) for offset, room in rings)
    first, mask = int(sets.marks[FIRST]), len(sets.records) - 1
    entries = set()
    for row in held:
        numbers = []
        for number in range(int(row["count"])):
            entry = pool[int(row["offset"]) + ((int(row["head"]) + number) & ((1 << int(row["bits"])) - 1))]
            numbers.append(first + ((int(entry["number"]) - first) & 0xFFFFFFFF))
            record = sets.records[numbers[-1] & mask]
            assert entry["size"] == record["size"]
            assert record["side"] == row["side"]
            entries.add((numbers[-1], int(row["token"])))
        assert numbers == sorted(set(numbers))
        assert numbers[0] >= first
    wanted = {(number, token) for number in range(first, sets.marks[NEXT]) for token in tokens_of(sets, number)}
    assert entries == wanted
    for row in range(len(table)):  # every list is found from its home
        if table[row]["side"] != NONE:
            assert index_place(table, row) == row


def index_place(table, row):
    """The place where a search for the list at `row` ends: an equal one, or a free place."""
    mask, word = len(table) - 1, int(table[row]["token"]) & (2**64 - 1)
    word = (word ^ (word >> 32)) * 0x9E3779B97F4A7C15 % 2**64
    place = ((word ^ (word >> 29)) >> 20) & mask
    while table[place]["side"] != NONE and (table[place]["token"], table[place]["side"]) != (
        table[row]["token"],
        table[row]["side"],
    ):
        place = (place + 1) & mask
    return place


def tokens_of(sets, number):
    record = sets.records[number & (len(sets.records) - 1)]
    places = np.arange(record["start"], record["start"] + record["size"]) & (len(sets.tokens) - 1)
    return sets.tokens[places].tolist()


def check_sets(sets):
    """The window's sets are contiguous, and none with tokens is smaller than SMALLEST."""
    start = None
    for number in range(sets.marks[FIRST], sets.marks[NEXT]):
        record, tokens = sets.records[number & (len(sets.records) - 1)], tokens_of(sets, number)
        assert record["number"] == number
        assert tokens == sorted(set(tokens))
        assert not tokens or len(tokens) >= sets.marks[SMALLEST]
        assert start in (None, record["start"])
        start = record["start"] + record["size"]


def check_band(band):
    """B is ordered by rank, E by expiry, then the reverse of B; no pair is kept that k others dominate."""
    size = int(band.counts[SIZE])
    items = band.items[:size]
    ranks = [(-item["score"], item["tie"], item["key"]) for item in items]
    assert ranks == sorted(ranks)
    order = band.order[:size]
    assert sorted(order.tolist()) == list(range(size))
    assert (band.ends[:size] == items["expiry"][order]).all()
    by_end = [(int(items["expiry"][place]), -int(place)) for place in order]
    assert by_end == sorted(by_end)
    assert band.counts[PENDING] <= len(band.buffer)
    for place in range(size):
        assert (items["expiry"][:place] >= items["expiry"][place]).sum() < band.counts[K]
    return int(band.counts[NOW])


def check_stairs(band, stairs, sets, times):
    """Each rank has the last set that arrives no later than that pair ends; steps are no lower than ranks."""
    size, open_ = int(band.counts[SIZE]), int(stairs.marks[2])
    for rank in range(size if open_ == NONE else open_):
        last = int(np.searchsorted(times, band.ends[rank], side="right")) - 1
        if last >= sets.marks[FIRST]:
            assert stairs.older[rank] == last
    base, shift = stairs.marks[:2].tolist()
    for number in range(sets.marks[FIRST], sets.marks[NEXT]):
        ended = int(np.searchsorted(band.ends[:size], times[number]))
        assert at_most(stairs.steps, base, shift, number) >= min(ended, size if open_ == NONE else open_)


@pytest.mark.parametrize("seed", range(6))
def test_swoop_queried_rarely_equals_all_pairs_and_stays_consistent(seed):
    stream, rng = coming_and_going(seed, 260)
    sides = 1 + seed % 2
    chosen = {"k": int(rng.choice([1, 3, 8])), "window": int(rng.choice([4, 12])), "sides": sides}
    chosen["similarity"] = ["jaccard", "hamming", "cosine"][seed % 3]
    swoop = skyband.create("pair-ranker", "swoop", **chosen)
    start = 0
    while start < len(stream):
        stop = min(start + int(rng.integers(1, 30)), len(stream))
        times, side = stream.times[start:stop], stream.sides[start:stop] if sides == 2 else None
        if rng.random() < 0.5:
            moments = np.unique(times)[rng.random(len(np.unique(times))) < 0.4]
            cuts, *columns = swoop.answers(times, *stream.flat(start, stop), moments, side)
            for number, moment in enumerate(moments.tolist()):
                before = min(stop, int(np.searchsorted(stream.times, moment, side="right")))
                wanted = pairs(chosen, stream, before, moment)[: chosen["k"]]
                part = slice(cuts[number], cuts[number + 1])
                got = list(zip(*(column[part].tolist() for column in columns), strict=True))
                assert got == [(pair.left, pair.right, pair.similarity) for pair in wanted]
        else:
            swoop.update(times, *stream.flat(start, stop), side)
        start = stop
        if rng.random() < 0.4:
            wanted = pairs(chosen, stream, stop, swoop.now)[: chosen["k"]]
            got = list(zip(*(column.tolist() for column in swoop.top()), strict=True))
            assert got == [(pair.left, pair.right, pair.similarity) for pair in wanted]
        check_sets(swoop._sets)
        check_index(swoop._index, swoop._sets)
        check_band(swoop._stock.band)
        check_stairs(swoop._stock.band, swoop._stairs, swoop._sets, stream.times[:stop])
        if stop < len(stream) and rng.random() < 0.2:
            swoop.advance(int(stream.times[stop]))
            check_index(swoop._index, swoop._sets)


@pytest.mark.parametrize(
    ("sets", "similarity", "k", "window", "longest"),
    [
        (close_calls, "jaccard", 1, 40, 200),
        (close_calls, "hamming", 2, 70, 200),
        (close_calls, "overlap", 3, 25, 4),
        (close_calls, "dice", 6, 60, 60),
        (ties, "jaccard", 1, 30, 30),
        (ties, "overlap", 2, 20, 5),
        (ties, "cosine", 5, 60, 200),
        (ties, "hamming", 3, 40, 60),
        (growing, "jaccard", 1, 12, 4),
        (growing, "jaccard", 1, 40, 8),
        (growing, "dice", 2, 30, 10),
        (growing, "cosine", 40, 200, 200),
    ],
)
def test_pairs_that_differ_least_are_ranked_like_all_pairs(sets, similarity, k, window, longest):
    """Batches of up to `longest` sets, queried rarely: the buffer overflows amid the pairs of a set."""
    seed = k + window + longest
    stream, rng = sets(seed, 240)
    sides = 1 + seed % 2
    chosen = {"k": k, "window": window, "sides": sides, "similarity": similarity}
    swoop = skyband.create("pair-ranker", "swoop", **chosen)
    start = 0
    while start < len(stream):
        stop = min(start + int(rng.integers(1, longest)), len(stream))
        times, side = stream.times[start:stop], stream.sides[start:stop] if sides == 2 else None
        moments = np.unique(times)[rng.random(len(np.unique(times))) < 0.15]
        cuts, *columns = swoop.answers(times, *stream.flat(start, stop), moments, side)
        start = stop
        asked = [
            (moment, [column[cuts[number] : cuts[number + 1]] for column in columns])
            for number, moment in enumerate(moments.tolist())
        ]
        for moment, answer in [*asked, (swoop.now, swoop.top())]:
            before = min(stop, int(np.searchsorted(stream.times, moment, side="right")))
            expected = pairs(chosen, stream, before, moment)[:k]
            got = list(zip(*(column.tolist() for column in answer), strict=True))
            assert got == [(pair.left, pair.right, pair.similarity) for pair in expected]


@pytest.mark.parametrize(("similarity", "long"), [("jaccard", 12), ("hamming", 5), ("overlap", 1)])
def test_a_rare_size_is_found_at_every_place_of_a_long_list(similarity, long):
    """Every 65th set has only the token that all share, so that it is at each of 64 places in turn."""
    rows, apart = 65 * 66, 65
    sets = [[0] if row % apart == 0 else [0, *range(row * 20 + 1, row * 20 + long)] for row in range(rows)]
    if similarity == "overlap":
        sets = [[0, 1, 2] if row % apart == 0 else [0] for row in range(rows)]
    stream, rng = stream_of(sets), np.random.default_rng(long)
    chosen = {"k": 1, "window": 400, "similarity": similarity}
    ranker = skyband.create("pair-ranker", "swoop", **chosen)
    moments = np.arange(400, rows, apart) // apart * apart + rng.integers(1, apart, len(np.arange(400, rows, apart)))
    moments = moments[moments < rows]
    cuts, left, right, _ = ranker.answers(stream.times, *stream.flat(0, rows), moments)
    assert np.diff(cuts).tolist() == [1] * len(moments)
    for moment, one, other in zip(moments.tolist(), left.tolist(), right.tolist(), strict=True):
        rare = [row for row in range(max(0, moment - 400), moment + 1) if row % apart == 0]
        assert (one, other) == (rare[0], rare[1])


@pytest.mark.parametrize("name", ["prefix", "inverted", "minhash-lsh"])
@pytest.mark.parametrize("matches", ["all", 2])
def test_a_match_is_found_at_every_place_of_a_long_list(name, matches):
    """All sets share their tokens except one or two: the match is at each of 64 places of the long lists."""
    rows, apart, rng = 65 * 30, 65, np.random.default_rng(5)
    sets = [list(range(5)) if row % apart == 0 else [*range(5), *range(100, 105)] for row in range(rows)]
    sets = [chosen if row % apart == 0 else [*chosen, int(rng.integers(6, 9))] for row, chosen in enumerate(sets)]
    stream = stream_of(sets)
    found, wanted = (
        skyband.create("set-matcher", each, threshold=0.95, window=300, matches=matches).update(
            stream.times, *stream.flat(0, rows)
        )
        for each in (name, "scan-count")
    )
    assert all((one == other).all() for one, other in zip(found, wanted, strict=True))
    assert np.diff(found[0])[::apart].max() == (2 if matches == 2 else 4)


def test_signatures_bound_the_tokens_in_one_set_only():
    rng = np.random.default_rng(6)
    for _ in range(200):
        one, other = (rng.integers(0, 90, rng.integers(0, 60)) for _ in range(2))
        room = [np.empty(len(each), np.int64) for each in (one, other)]
        (size, mine), (others, theirs) = (
            normalise(each, 0, len(each), to) for each, to in zip((one, other), room, strict=True)
        )
        assert (size, others) == (len(set(one.tolist())), len(set(other.tolist())))
        apart = len(set(one.tolist()) ^ set(other.tolist()))
        assert bin(int(mine) ^ int(theirs)).count("1") <= apart


def test_all_bits_are_counted():
    counted = getattr(ones, "py_func", ones)
    with np.errstate(over="ignore"):
        for word in np.random.default_rng(7).integers(0, 2**63, 100).astype(np.uint64):
            assert counted(word * np.uint64(2)) == bin(int(word)).count("1") - (int(word) >> 63)
