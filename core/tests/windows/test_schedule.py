"""Moments and ends of sessions, compared with a check of each moment and window."""

import numpy as np
import pytest
from skyband.config.calendar_lengths import parse_length
from skyband.windows import schedule as schedules
from skyband.windows.calendar_schedule import CalendarSchedule
from skyband.windows.schedule import EachRow, Regular, Schedule, TooManyMomentsError

SPAN = 400


def moments_of(slide, phase):
    return [moment for moment in range(-SPAN, SPAN) if (moment - phase) % slide == 0]


@pytest.mark.parametrize("seed", range(25))
def test_a_session_of_several_queries_ends_when_no_later_moment_needs_its_last_row(seed):
    """At that watermark and each one before and after; the fast check never contradicts this."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 4))
    windows, slides = rng.integers(1, 30, count).tolist(), rng.integers(1, 20, count).tolist()
    phases = rng.integers(0, 20, count).tolist()
    schedule = Schedule(windows, slides, phases)
    asked = [
        (moment, moment - window)
        for window, slide, phase in zip(windows, slides, phases, strict=True)
        for moment in moments_of(slide, phase)
    ]
    lasts = np.arange(-40, 40)
    for last in lasts.tolist():
        holding = [moment for moment, _ in asked if moment - max(windows) <= last < moment]
        ends = max(holding, default=last + 1)
        assert schedule.empty_at(last) == max(ends, last + 1)
        watermarks = np.arange(last - 2, last + 60)
        found = schedule.has_ended(np.full(len(watermarks), last), watermarks)
        assert found.tolist() == (watermarks >= max(ends, last + 1)).tolist()
        assert not any(
            schedule.cannot_end(last, mark) and ended
            for mark, ended in zip(watermarks.tolist(), found.tolist(), strict=True)
        )
        after = min(moment for moment, _ in asked if moment > last)
        assert schedule.after(last) == after and schedule.latest(after) == after
        firsts = [
            min(moment for moment in moments_of(slide, phase) if moment > last)
            for slide, phase in zip(slides, phases, strict=True)
        ]
        assert schedule.each_after(last).tolist() == firsts
        assert schedule.oldest(last) == min(start for moment, start in asked if moment > last)
    assert schedule.empty_at(lasts).tolist() == [schedule.empty_at(last) for last in lasts.tolist()]


@pytest.mark.parametrize("seed", range(12))
def test_a_stretch_of_one_query_ends_at_the_first_moment_that_finds_its_window_empty(seed):
    rng = np.random.default_rng(seed)
    every, window, phase = (int(number) for number in (rng.integers(1, 20), rng.integers(1, 40), rng.integers(0, 30)))
    schedule, moments = Regular(every, window, phase), moments_of(every, phase)
    for last in range(-40, 40):
        ends = min(moment for moment in moments if moment - window > last)
        assert schedule.empty_at(last) == ends
        watermarks = np.arange(last - 2, last + 90)
        ended = schedule.has_ended(np.full(len(watermarks), last), watermarks)
        assert ended.tolist() == (watermarks >= ends).tolist()
        assert schedule.oldest(last) == min(moment for moment in moments if moment > last) - window


@pytest.mark.parametrize("seed", range(12))
def test_moments_of_spans_are_ordered_without_duplicates(seed):
    """Spans that overlap, touch or are disjoint; also those of each span alone."""
    rng = np.random.default_rng(seed)
    slides, phases = rng.integers(1, 9, 2).tolist(), rng.integers(0, 9, 2).tolist()
    schedule = Schedule([5, 7], slides, phases)
    begins = rng.integers(-30, 30, 6)
    ends = begins + rng.choice([0, 1, 4, 15], 6)
    ends[1] = begins[0] if begins[0] > begins[1] else ends[1]  # one that ends where another begins
    each = [
        sorted(
            (moment, query)
            for query in range(2)
            for moment in moments_of(slides[query], phases[query])
            if begin < moment <= end
        )
        for begin, end in zip(begins, ends, strict=True)
    ]
    found, span = schedule.of_each(begins, ends)
    assert list(zip(span.tolist(), found.at.tolist(), found.query.tolist(), strict=True)) == [
        (number, *one) for number, some in enumerate(each) for one in some
    ]
    together = schedule.within(begins, ends)
    assert list(zip(together.at.tolist(), together.query.tolist(), strict=True)) == sorted(
        {one for some in each for one in some}
    )


def test_where_no_moment_is_waited_for_the_group_that_was_silent_longest_is_looked_at_first():
    assert EachRow(7).next_due(np.array([9, 3, 5]), 4) == 10
    assert EachRow(7).has_ended(np.array([3, 3, 4]), np.array([9, 10, 10])).tolist() == [False, True, False]


@pytest.mark.parametrize("begin", [-(2**40), 0, 12_345])
def test_as_many_moments_are_answered_at_once_as_is_said_and_no_more(begin, monkeypatch):
    monkeypatch.setattr(schedules, "MOST_MOMENTS", 7)
    every = Regular(10, 30, 5)
    for count in (6, 7, 8):
        end = begin + 10 * count
        if count > 7:
            with pytest.raises(TooManyMomentsError, match="8 moments are due"):
                every.between(begin, end)
            with pytest.raises(TooManyMomentsError, match="8 moments are due"):
                every.within(np.array([begin]), np.array([end]))
        else:
            assert len(every.between(begin, end)) == len(every.within(np.array([begin]), np.array([end])).at) == count


@pytest.mark.parametrize(
    "several",
    [
        Schedule([5, 30], [10, 7], [0, 3]),
        Regular(10, 30, 5),
        CalendarSchedule(
            parse_length("1 day in UTC"), [parse_length("1 month in UTC"), parse_length("today in Asia/Tokyo")], 0
        ),
    ],
    ids=["several", "regular", "calendar"],
)
def test_a_moment_holds_a_row_from_the_start_of_its_earliest_window_on(several):
    at = several.between(1_000_000_000_000_000, 1_000_000_000_000_000 + (4 * 10**12 if several.has_gaps else 500))
    starts = several.starts_at(at)
    assert len(at) > 30
    for distance in (-1, 0, 1):
        lasts = starts.min(axis=1) + distance
        expected = [
            any(start <= last for start in own) for own, last in zip(starts.tolist(), lasts.tolist(), strict=True)
        ]
        assert several.holds_rows(at, lasts).tolist() == expected == [distance >= 0] * len(at)
