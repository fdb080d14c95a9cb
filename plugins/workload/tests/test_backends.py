"""All four backends give the answers of the definition, on workloads and streams of every kind."""

import numpy as np
import pytest
import skyband
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband import ConfigError, InputError
from skyband_specs.workload_ranker.driver import plain
from skyband_specs.workload_ranker.oracle import ALWAYS, Workload, answers, retained
from thesis_workload import thesis_workload

BACKENDS = ("paneband", "mtoplist", "mtopband", "mintopk")
QUERY = st.tuples(st.integers(1, 30), st.integers(1, 20), st.sampled_from([1, 2, 3, 5, 50]), st.integers(0, 30))
QUERIES = st.lists(QUERY, min_size=1, max_size=7)
GAPS = st.sampled_from([0, 0, 1, 1, 2, 3, 35])
SCORES = st.sampled_from([-np.inf, -0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, np.inf])
ROWS = st.lists(st.tuples(GAPS, st.integers(0, 5), SCORES), max_size=50)
STEPS = st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["", "", "", "restore", "change"]), QUERIES), max_size=8)


def made(name, queries, by="time"):
    return skyband.create("workload-ranker", name, queries=queries, by=by)


def changed(workload, queries, joined):
    """The workload after its queries become `queries`: those already running continue."""
    running = {}
    for query, since in zip(workload.queries, workload.since, strict=True):
        key = (query.window, query.slide, query.k, query.phase % query.slide)
        running[key] = min(since, running.get(key, since))
    keys = [(query.window, query.slide, query.k, query.phase % query.slide) for query in queries]
    return Workload(queries, [running.get(key, joined) for key in keys])


@pytest.mark.parametrize("name", BACKENDS)
@given(QUERIES, ROWS, STEPS, st.sampled_from(["time", "rows"]))
@settings(max_examples=60, deadline=None)
def test_every_answer_is_that_of_the_definition(name, queries, content, steps, by):
    gaps, objects, scores = zip(*content, strict=True) if content else ((), (), ())
    times = np.cumsum(gaps) - 20 if by == "time" else np.arange(len(gaps))
    rows = list(zip(times.tolist(), objects, scores, strict=True))
    ranker, start, passed = made(name, queries, by), 0, int(times[0]) if rows else 0
    workload = Workload(ranker.queries)
    for size, then, other in [*steps, (len(rows), "", [])]:
        stop = min(start + size, len(rows))
        got = list(map(plain, ranker.update(times[start:stop], objects[start:stop], scores[start:stop])))
        if stop > start:
            now = int(times[stop - 1]) + (by == "rows")
            assert got == answers(workload, rows[:stop], passed, now)
            passed = now
        start = stop
        if then == "restore":
            blob = ranker.snapshot()
            ranker = skyband.restore(blob)
            assert ranker.snapshot() == blob
        if then == "change":
            mixed = [*workload.queries[1:], *other][::-1]
            ranker.reconfigure(mixed)
            joined = max(passed, int(times[stop - 1]) + 1) if stop else ALWAYS
            workload = changed(workload, ranker.queries, joined)
    ahead = passed + 40
    assert list(map(plain, ranker.advance(ahead))) == (answers(workload, rows, passed, ahead) if rows else [])


@pytest.mark.parametrize("name", ["mtoplist", "mtopband"])
@given(QUERIES, ROWS, st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_minimal_backends_retain_the_union_of_the_tops(name, queries, content, ahead):
    ranker, times = made(name, queries), np.cumsum([gap for gap, _, _ in content]).astype(int)
    rows = [(int(time), row[1], row[2]) for time, row in zip(times, content, strict=True)]
    for row in rows:
        ranker.update([row[0]], [row[1]], [row[2]])
    if rows:
        ranker.advance(rows[-1][0] + ahead)
        least = retained(Workload(ranker.queries), rows, ranker.now)
        assert set(ranker._held()["arrival"].tolist()) == least
        assert len(ranker) == len(least)


@given(QUERIES, ROWS)
@settings(max_examples=60, deadline=None)
def test_mintopk_retains_what_each_query_would_need_alone(queries, content):
    ranker, times = made("mintopk", queries), np.cumsum([gap for gap, _, _ in content]).astype(int)
    rows = [(int(time), row[1], row[2]) for time, row in zip(times, content, strict=True)]
    if rows:
        ranker.update(times, [row[1] for row in rows], [row[2] for row in rows])
        alone = [retained(Workload([query]), rows, ranker.now) for query in ranker.queries]
        assert len(ranker) == sum(map(len, alone))


@pytest.mark.parametrize("name", BACKENDS)
def test_rows_from_before_a_change_of_queries_are_restored(name):
    ranker = made(name, [(10, 1, 2), (20, 7, 2)])
    ranker.update(np.arange(12), np.arange(12), np.arange(12.0))
    ranker.reconfigure([(20, 7, 2)])
    restored = skyband.restore(ranker.snapshot())
    assert list(map(plain, restored.advance(40))) == list(map(plain, ranker.advance(40)))


def scaled(varied, granularity, queries=40):
    """A workload of the thesis, at a thousandth of its size."""
    return [
        (query.window // 1000, max(query.slide // 1000, 1), max(query.k // 10, 1))
        for query in thesis_workload(varied, queries, granularity)
    ]


@pytest.mark.parametrize(("varied", "granularity"), [("k", 1), ("win", 1000), ("all", 1000), ("all", 10_000)])
def test_backends_agree_on_the_workloads_of_the_thesis(varied, granularity):
    rng = np.random.default_rng(5)
    rows = 4000
    objects, scores = rng.integers(0, 500, rows), rng.integers(0, 3000, rows).astype(float)
    found = {}
    for name in BACKENDS:
        ranker, found[name] = made(name, scaled(varied, granularity), "rows"), []
        for start in range(0, rows, 700):
            part = slice(start, start + 700)
            given = ranker.update(np.arange(rows)[part], objects[part], scores[part])
            found[name] += map(plain, given)
    assert len(found["paneband"]) > 200
    assert all(found[name] == found["paneband"] for name in BACKENDS)


def test_paneband_retains_little_more_than_the_minimum():
    queries = scaled("all", 1000)
    rng = np.random.default_rng(6)
    scores = rng.random(5000)
    held = {}
    for name in ("paneband", "mtoplist"):
        ranker = made(name, queries, "rows")
        ranker.update(np.arange(5000), np.arange(5000), scores)
        held[name] = len(ranker)
    assert held["mtoplist"] <= held["paneband"] <= 1.5 * held["mtoplist"]


@pytest.mark.parametrize("name", BACKENDS)
def test_a_long_gap_is_answered_and_forgotten(name):
    ranker = made(name, [(5, 1, 2), (1_000, 100, 3)])
    ranker.update([0, 1, 2], [1, 2, 3], [1.0, 3.0, 2.0])
    answered = ranker.update([1_000_000], [4], [1.0])
    assert len(answered) == 1_000_000 - 2 + 10_000
    assert sum(len(answer.objects) for answer in answered[:30]) > 0
    assert answered.offsets[-1] == answered.offsets[2000]
    assert len(ranker) <= 2


@pytest.mark.parametrize("name", BACKENDS)
def test_rows_after_a_long_gap_are_only_in_windows_still_open(name):
    ranker, whole = made(name, [(10, 1, 2)]), made("paneband", [(10, 1, 2)])
    times = np.concatenate(([0], 300_000 + np.arange(20_000)))
    scores = np.random.default_rng(7).random(len(times))
    given = ranker.update(times, times, scores)
    wanted = whole.update(times, times, scores)
    assert np.array_equal(given.objects, wanted.objects)
    assert np.array_equal(given.offsets, wanted.offsets)


@pytest.mark.parametrize("name", BACKENDS)
def test_a_gap_with_more_answers_than_memory_holds_is_refused(name):
    ranker = made(name, [(10, 1, 1), (20, 2, 1)])
    ranker.update([0], [1], [1.0])
    before = ranker.snapshot()
    with pytest.raises(InputError, match="about 1,649,267,441,664 answers are due"):
        ranker.update([5, 2**40], [1, 2], [1.0, 1.0])
    with pytest.raises(InputError, match="start a new ranker after such a gap"):
        ranker.advance(2**62)
    assert ranker.snapshot() == before


@pytest.mark.parametrize("name", ["mtoplist", "mtopband", "mintopk"])
def test_more_open_windows_than_can_be_planned_are_refused(name):
    with pytest.raises(ConfigError, match=r"at most 16,777,216 at once \(got 4,611,686,018,427,387,904\)"):
        made(name, [(2**62, 1, 1)])
    ranker = made(name, [(4, 2, 1)])
    with pytest.raises(ConfigError, match="use paneband"):
        ranker.reconfigure([(2**62, 1, 1)])
    assert ranker.parameters()["queries"] == made(name, [(4, 2, 1)]).queries


@pytest.mark.parametrize("name", BACKENDS)
def test_large_k_allocates_nothing_by_itself(name):
    ranker = made(name, [(10, 5, 2**62), (8, 4, 1)])
    answered = ranker.update(np.arange(40), np.arange(40), np.arange(40.0))
    assert max(len(answer.objects) for answer in answered) == 10
    assert ranker.nbytes < 1 << 20


@pytest.mark.parametrize("name", BACKENDS)
def test_read_only_input_is_accepted_without_conversion(name):
    column = np.arange(6)
    column.flags.writeable = False
    assert len(made(name, [(4, 2, 2)]).update(column, column, column.astype(float))) == 2


@pytest.mark.parametrize("name", BACKENDS)
def test_any_number_of_pairs_with_equal_scores_is_ranked_by_object(name):
    objects, scores = np.arange(1000)[::-1].copy(), np.arange(1000)[::-1] // 2.0
    (answer,) = made(name, [(1000, 1000, 400)], "rows").update(np.arange(1000), objects, scores)
    assert answer.objects.tolist() == objects[np.lexsort((objects, -scores))][:400].tolist()
