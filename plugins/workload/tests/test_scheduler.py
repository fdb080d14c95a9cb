"""The scheduler yields every moment and every view exactly once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband.roles import TopKQuery
from skyband_workload.analyser import FROM_THE_START, analyse, carried_over
from skyband_workload.scheduler import NEVER, OnDemandScheduler, Scheduler, moments_together, starts_together

QUERIES = st.lists(st.builds(TopKQuery, *[st.integers(1, 9)] * 3, st.integers(0, 20)), min_size=1, max_size=5)
SINCE = st.lists(st.one_of(st.just(FROM_THE_START), st.integers(-20, 20)), min_size=5, max_size=5)


def scheduler_of(queries, since):
    return Scheduler(analyse(queries, np.array(since[: len(queries)])))


def due(queries, since, moments):
    """(at, query) of every moment among `moments`, by definition."""
    return [
        (at, number)
        for at in moments
        for number, (query, first) in enumerate(zip(queries, since, strict=False))
        if (at - query.phase) % query.slide == 0 and at - query.window >= first
    ]


@given(QUERIES, SINCE, st.integers(-30, 30), st.integers(0, 30))
def test_moments_are_ordered_by_time_and_query(queries, since, after, length):
    scheduler = scheduler_of(queries, since)
    scheduler.look_from(after)
    moments = scheduler.moments(after, after + length)
    wanted = due(queries, since, range(after + 1, after + length + 1))
    assert list(zip(moments.at.tolist(), moments.query.tolist(), strict=True)) == wanted
    assert moments.start.tolist() == [at - queries[number].window for at, number in wanted]
    assert moments.k.tolist() == [queries[number].k for _, number in wanted]
    following = due(queries, since, range(after + length + 1, after + length + 90))
    assert scheduler.next_moment == following[0][0]


@given(QUERIES, SINCE, st.integers(-30, 30), st.integers(0, 30))
def test_a_plan_has_each_view_with_its_outputs_and_what_they_need(queries, since, after, length):
    plan = scheduler_of(queries, since).plan(after, after + length)
    views = {}
    for at, number in due(queries, since, range(after + 1, after + length + 10)):
        if at - queries[number].window <= after + length:
            views.setdefault(at - queries[number].window, []).append((at, queries[number].k))
    assert plan.start.tolist() == sorted(views)
    for number, start in enumerate(sorted(views)):
        outputs = slice(plan.offsets[number], plan.offsets[number + 1])
        at = sorted(moment for moment, _ in views[start])
        assert plan.at[outputs].tolist() == at
        final = dict(zip(plan.at[outputs].tolist(), plan.k[outputs].tolist(), strict=True))
        assert all(max(k for moment, k in views[start] if moment >= now) >= final[now] for now in at)
        assert plan.k[plan.offsets[number]] == max(k for _, k in views[start])


@given(QUERIES, SINCE, st.integers(-30, 30), st.integers(0, 30))
def test_starts_are_those_of_all_windows(queries, since, after, length):
    scheduler = scheduler_of(queries, since)
    begins = {at - queries[number].window for at, number in due(queries, since, range(after - 40, after + 200))}
    assert scheduler.starts(after, after + length).tolist() == sorted(
        start for start in begins if after < start <= after + length
    )
    before = [start for start in begins if after - 9 <= start <= after]
    latest = scheduler.latest_start(after)
    assert latest == max(before) if before else latest <= after
    to_come = [at - queries[number].window for at, number in due(queries, since, range(after + 1, after + 90))]
    assert scheduler.oldest_start(after) == min(to_come)


@pytest.mark.parametrize("after", [-(2**63), 2**63 - 40])
def test_moments_beyond_64_bits_are_never_due(after):
    scheduler = Scheduler(analyse([TopKQuery(2**62, 2**62, 1), TopKQuery(7, 10, 2, 3)]))
    scheduler.look_from(after)
    moments = scheduler.moments(after, min(after + 39, NEVER - 1))
    wanted = [at for at in range(after + 1, min(after + 40, NEVER)) if at % 10 == 3 or at % 2**62 == 0]
    assert moments.at.tolist() == wanted
    assert (moments.start <= moments.at).all()


def test_the_numbers_of_views_in_the_thesis():
    """Examples 4.2.1 and 5.3.1: independent queries would need 12 views; the second has 10,091 in all."""
    same = Scheduler(analyse([TopKQuery(8, 2, 4), TopKQuery(8, 2, 3), TopKQuery(8, 2, 2)]))
    assert len(same.plan(1000, 1000).start) == 4
    assert sum(len(Scheduler(same.meta.alone(query)).plan(1000, 1000).start) for query in range(3)) == 12
    mixed = [TopKQuery(100, 10, 10), TopKQuery(1000, 10, 100), TopKQuery(1_000_000, 100, 200)]
    now = 5_000_000
    assert len(Scheduler(analyse(mixed)).plan(now - 1, now).start) == 10_091 - 1 + 1


@given(QUERIES, st.lists(SINCE, min_size=1, max_size=2), st.lists(st.integers(0, 9), min_size=9, max_size=9))
def test_several_schedulers_together_have_the_moments_and_panes_of_each(queries, since, steps):
    """They are at moments, between them and at the same ones; equal ones are looked up once."""
    schedulers, alone = ([scheduler_of(queries, since[place % len(since)]) for place in range(4)] for _ in range(2))
    now = [-place // 2 for place in range(4)]
    for one, two, begin in zip(schedulers, alone, now, strict=True):
        one.look_from(begin)
        two.look_from(begin)
    for step in steps:
        until = [max(now) + step - place * (step % 2) for place in range(4)]
        until = [max(begin, end) for begin, end in zip(now, until, strict=True)]
        together = moments_together(schedulers, now, until)
        starts = starts_together(schedulers, np.array(now), np.array(until))
        for number, (two, begin, end) in enumerate(zip(alone, now, until, strict=True)):
            expected = two.moments(begin, end)
            assert all(map(np.array_equal, together[number], expected))
            assert schedulers[number].next_moment == two.next_moment
            assert starts[number].tolist() == two.starts(begin, end).tolist()
        # Some wait for their next moment, and others are at the same time without waiting.
        now = [
            min(one.next_moment, end + 20) if place % 2 else end
            for place, (one, end) in enumerate(zip(schedulers[::-1] if step % 3 else schedulers, until, strict=True))
        ]


@given(QUERIES, SINCE, QUERIES)
def test_a_query_continues_as_the_oldest_equal_one(old, since, others):
    """Queries are equal if their moments, windows and k are, whatever their phases beyond a slide."""
    old, since = [*old, *old[::-1]][:5], np.array(since)[: len([*old, *old][:5])]
    new = [*others, *(TopKQuery(one.window, one.slide, one.k, one.phase % one.slide) for one in old)]
    starts, origin = carried_over(old, since, new, 99)
    for query, start, before in zip(new, starts.tolist(), origin.tolist(), strict=True):
        equal = [
            (since[number], number)
            for number, one in enumerate(old)
            if (one.window, one.slide, one.k, one.phase % one.slide)
            == (query.window, query.slide, query.k, query.phase % query.slide)
        ]
        assert (start, before) == min(equal, default=(99, -1))


@given(QUERIES, st.lists(st.integers(-5, 5), min_size=1), st.integers(-6, 6))
def test_each_later_time_with_rows_is_a_pane_if_any_subquery_may_be_asked(queries, times, after):
    scheduler = OnDemandScheduler(analyse(queries))
    expected = sorted({time for time in times if time > after})
    assert scheduler.panes(after, np.sort(times)).tolist() == expected


def test_equal_queries_continue_and_others_join():
    old = [TopKQuery(4, 2, 1, 5), TopKQuery(6, 3, 2)]
    since, origin = carried_over(old, np.array([FROM_THE_START, 70]), [TopKQuery(6, 3, 2), TopKQuery(4, 2, 1, 1)], 99)
    assert since.tolist() == [70, FROM_THE_START]
    assert origin.tolist() == [1, 0]
    since, origin = carried_over(old, np.array([FROM_THE_START, 70]), [TopKQuery(6, 3, 3)], 99)
    assert since.tolist() == [99]
    assert origin.tolist() == [-1]
