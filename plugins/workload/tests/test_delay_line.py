"""paneband's delay line changes when rows are ranked, but no answer, snapshot or number of kept rows."""

import numpy as np
import pytest
import skyband
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband.kernels import kskyband_kernels as kskyband
from skyband_workload import delay_line, radix

ROWS = 9000
SCORES = {
    "uniform": lambda rng, i: rng.random(len(i)),
    "rising": lambda rng, i: i / 2000 + rng.random(len(i)),
    "falling": lambda rng, i: -i / 2000 + rng.random(len(i)),
    "always lower": lambda rng, i: -i.astype(float),
    "ties": lambda rng, i: rng.integers(0, 4, len(i)).astype(float),
    "one score": lambda rng, i: np.zeros(len(i)),
    "infinite and two zeros": lambda rng, i: rng.choice([-np.inf, np.inf, 0.0, -0.0, 1.0], len(i)),
    "alike in their first digits": lambda rng, i: 1e9 + rng.random(len(i)) * 1e-3,
    "waves": lambda rng, i: np.sin(i / 700) + rng.random(len(i)),
}
TIMES = {
    "rows": lambda rng, n: np.arange(n),
    "bursts": lambda rng, n: np.cumsum(rng.choice([0, 0, 1, 2, 5], n)) - 4000,
    "gaps": lambda rng, n: np.cumsum(rng.choice([1, 6000], n, p=[0.999, 0.001])),
    "one time": lambda rng, n: np.full(n, 7),
}
QUERIES = [(1600, 90, 20), (2500, 410, 7, 3), (4001, 377, 60), (6000, 1000, 1)]
LONG = [(3000, 800, 5)]
"""Panes so long that most rows are below the limit of their pane."""


def stream(scores, times):
    """times, objects and scores of ROWS rows."""
    rng = np.random.default_rng(8)
    moments = TIMES[times](rng, ROWS)
    return moments, rng.integers(0, 3000, ROWS), SCORES[scores](rng, np.arange(ROWS))


def made(name, queries, times):
    return skyband.create("workload-ranker", name, queries=queries, by="rows" if times == "rows" else "time")


def assert_equal(given, wanted):
    for column in ("query", "at", "offsets", "objects", "scores"):
        assert np.array_equal(getattr(given, column), getattr(wanted, column))


@pytest.mark.parametrize("queries", [QUERIES, LONG], ids=["many", "long panes"])
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("scores", SCORES)
def test_answers_are_those_of_a_single_ranked_list(scores, times, queries):
    line, plain = made("paneband", queries, times), made("mtoplist", queries, times)
    columns = stream(scores, times)
    for begin, end in ((0, 5000), (5000, 5010), (5010, ROWS)):
        part = [column[begin:end] for column in columns]
        assert_equal(line.update(*part), plain.update(*part))
    if times != "rows":
        assert_equal(line.advance(int(columns[0][-1]) + 7000), plain.advance(int(columns[0][-1]) + 7000))


SHORT = {
    "one": [(100, 7, 5)],
    "each longer by a half": [(90, 7, 16), (135, 4, 16), (200, 11, 16)],
    "each three times as long": [(20, 3, 5), (60, 4, 5), (180, 7, 5)],
    "some too long, or of too many": [(400, 7, 5), (90, 7, 40), (60, 5, 17), (1, 1, 1)],
}


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("scores", ["uniform", "falling", "ties", "one score", "always lower"])
@pytest.mark.parametrize("short", SHORT)
@pytest.mark.parametrize("long", [[], [(3000, 1000, 20)]], ids=["alone", "beside a long one"])
def test_frequent_answers_over_short_windows(long, short, scores, times):
    """Their answers consist of the latest rows, which are not ranked for them."""
    columns = [column[:5000] for column in stream(scores, times)]
    line, plain = (made(name, [*long, *SHORT[short]], times) for name in ("paneband", "mtoplist"))
    for first in range(0, 5000, 1700):
        part = [column[first : first + 1700] for column in columns]
        assert_equal(line.update(*part), plain.update(*part))
    assert line.snapshot() == skyband.restore(line.snapshot()).snapshot()


@pytest.mark.parametrize("scores", ["uniform", "falling"])
@pytest.mark.parametrize("times", ["rows", "bursts"])
def test_rows_wait_for_long_windows_although_there_are_short_ones(times, scores):
    """And the best of the latest rows outlast several lines, instead of being found again for each answer."""
    queries = [(3000, 300, 20), (100, 7, 5)]
    moments, objects, ranks = stream(scores, times)
    line, waited, found = made("paneband", queries, times), 0, set()
    for first in range(0, ROWS, 7):
        part = slice(first, first + 7)
        line.update(moments[part], objects[part], ranks[part])
        waited += line._line.state[delay_line.GATE] != delay_line.NO_GATE
        found.add(int(line._line.state[delay_line.BEST_FROM]))
    assert waited > ROWS / 7 / 2
    assert len(found) < ROWS / 7 / 5


@pytest.mark.parametrize("times", ["rows", "bursts"])
@pytest.mark.parametrize("long", [(2000, 900, 3), (3000, 170, 5)])
def test_the_best_of_the_latest_rows_outlast_a_line_of_which_few_rows_are_left(long, times):
    """An answer over a long window ends the line, whose other rows are dropped unranked."""
    columns = stream("waves", times)
    line, plain = (made(name, [long, *SHORT["one"]], times) for name in ("paneband", "mtoplist"))
    for first in range(0, 7000, 1700):
        part = [column[first : first + 1700] for column in columns]
        assert_equal(line.update(*part), plain.update(*part))


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("scores", ["uniform", "falling", "ties"])
def test_queries_change_and_snapshots_are_taken_in_the_middle_of_a_line(scores, times):
    line, plain = made("paneband", QUERIES, times), made("mtoplist", QUERIES, times)
    columns = stream(scores, times)
    for step, begin in enumerate(range(0, ROWS, 777)):
        part = [column[begin : begin + 777] for column in columns]
        assert_equal(line.update(*part), plain.update(*part))
        if step % 3 == 1:
            queries = [*line.queries[1:], (900 + 100 * step, 50 + step, 3 * step)]
            line.reconfigure(queries)
            plain.reconfigure(queries)
        elif step % 3 == 2:
            blob = line.snapshot()
            line = skyband.restore(blob)
            assert line.snapshot() == blob


@pytest.mark.parametrize("scores", ["uniform", "rising", "falling", "one score"])
def test_a_snapshot_does_not_depend_on_batches(scores):
    whole, cut = made("paneband", QUERIES, "bursts"), made("paneband", QUERIES, "bursts")
    columns = stream(scores, "bursts")
    whole.update(*columns)
    for begin in range(0, ROWS, 611):
        cut.update(*(column[begin : begin + 611] for column in columns))
        len(cut)
    assert whole.snapshot() == cut.snapshot()


@pytest.mark.parametrize("queries", [QUERIES, LONG, [(1624, 162, 66)]], ids=["many", "long panes", "short"])
@pytest.mark.parametrize("scores", SCORES)
def test_the_state_is_limited_to_what_answers_need(scores, queries):
    """Also between calls, without a call of `len`: at most three rows in the line for each kept object."""
    ranker = made("paneband", queries, "rows")
    _, objects, values = stream(scores, "rows")
    longest = max(query[0] for query in queries)
    for begin in range(0, 10 * ROWS, ROWS):
        ranker.update(np.arange(begin, begin + ROWS), objects, values)
        kept = ranker._band.counts[kskyband.SIZE]
        assert kept <= 2 * longest
    assert ranker.nbytes <= 3 * (48 * max(kept, longest) + 80 * delay_line.FLUSH_AT)


ITEMS = st.lists(
    st.tuples(st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 1.0, 1.0 + 1e-15, 7.5, np.inf]), st.integers(0, 3)),
    max_size=60,
)


def items_of(content, repeats):
    """Items in order of arrival, ten to a pane."""
    items = np.zeros(len(content) * repeats, kskyband.ITEM)
    for name, values in zip(("score", "tie"), zip(*content, strict=True) if content else ((), ()), strict=True):
        items[name] = np.tile(values, repeats)
    items["key"] = np.arange(len(items))
    items["expiry"] = items["key"] // 10
    return items


@given(ITEMS, st.sampled_from([1, 30]))
@settings(max_examples=100, deadline=None)
def test_the_radix_sort_ranks_like_the_merge_sort(content, repeats):
    items = items_of(content, repeats)
    assert np.array_equal(radix.ranking(items, len(items)), kskyband.ranking(items, len(items)))


@given(st.integers(0, 2**32), st.sampled_from(list(SCORES)))
@settings(max_examples=30, deadline=None)
def test_scores_of_all_kinds_are_ranked(seed, scores):
    items = items_of([(score, 0) for score in SCORES[scores](np.random.default_rng(seed), np.arange(700))], 1)
    assert np.array_equal(radix.ranking(items, 700), kskyband.ranking(items, 700))


@given(ITEMS, st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_thinning_drops_only_rows_that_rank_after_k_later_ones(content, k):
    items = items_of(content, 3)
    band = kskyband.new(k, max(len(items), 1))
    band.buffer[: len(items)] = items
    band.counts[kskyband.PENDING] = len(items)
    delay_line.thin(band)
    left = band.buffer[: band.counts[kskyband.PENDING]]
    kept = set(left["key"].tolist())
    assert left["key"].tolist() == sorted(kept)
    for row in items:
        later = items[items["key"] > row["key"]]
        better = (later["score"] > row["score"]) | ((later["score"] == row["score"]) & (later["tie"] < row["tie"]))
        if better.sum() < k:
            assert int(row["key"]) in kept
