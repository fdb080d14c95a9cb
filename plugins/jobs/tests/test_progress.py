"""Progress: one live line on a terminal, plain lines elsewhere, and a complete summary."""

import io
import re
import time

import pytest
from numba import njit
from skyband.config.durations import parse
from skyband_jobs.job.progress import Progress, Totals, status, summary
from skyband_jobs.running.compilation_notice import announced


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves only when told to."""
    now = [100.0]
    monkeypatch.setattr("skyband_jobs.job.progress.time.monotonic", lambda: now[0])
    monkeypatch.setenv("TERM", "xterm")
    return now


TOTALS = {"rows_in": 1_234_567, "rows_late": 3, "retained": 42, "watermark": 3_600_000_000}


def test_the_status_line():
    totals = Totals(**TOTALS, seconds=10, state_bytes=2048)
    assert status(totals) in {
        "1,234,567 rows · 123,457 rows/s · watermark 1970-01-01 01:00:00 · 3 late · 42 retained, 2.0 KB",
        "1,234,567 rows | 123,457 rows/s | watermark 1970-01-01 01:00:00 | 3 late | 42 retained, 2.0 KB",
    }


UNITS = {"second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000}


@pytest.mark.parametrize("length", [count * length for length in UNITS.values() for count in (1, 2, 3, 119)])
@pytest.mark.parametrize("beside", [-1, 0, 1])
def test_the_suggested_delay_would_have_kept_the_latest_row_and_is_no_longer_than_needed(length, beside):
    late_by = length + beside
    line = summary(Totals(**TOTALS, late_by=late_by), "in out")[1]
    delay = parse(re.search(r'delay = "([^"]+)" would have kept them', line)[1])
    unit = max([unit for unit in UNITS.values() if late_by >= 2 * unit], default=UNITS["second"])
    assert late_by <= delay.length < late_by + unit


def test_row_windows_have_a_row_as_watermark():
    assert "watermark 3,600,000,000" in status(Totals(**TOTALS, in_rows=True))


def test_the_rate_of_the_last_micro_batch_is_shown_before_that_of_the_run():
    assert "77 rows/s" in status(Totals(**TOTALS, seconds=10, recent_rate=77.0))


def test_a_terminal_has_one_line_drawn_again(clock):
    out = Terminal()
    progress = Progress(out)
    for _ in range(48):
        clock[0] += 0.125
        progress.show(Totals(**TOTALS))
    assert out.getvalue().count("\r\x1b[2K") == 24
    assert "\n" not in out.getvalue()
    progress.note("done")
    assert out.getvalue().endswith("\r\x1b[2Kdone\n")


def test_a_terminal_shows_what_a_run_waits_for_at_once(clock):
    out = Terminal()
    progress = Progress(out)
    progress.waiting("starting Spark")
    progress.waiting("still starting")
    progress.note("a note")
    progress.waiting("starting again")
    assert out.getvalue() == "\r\x1b[2Kstarting Spark\r\x1b[2Ka note\n\r\x1b[2Kstarting again"


def test_without_a_terminal_there_is_a_line_every_few_seconds_if_something_is_new(clock):
    out = io.StringIO()
    progress = Progress(out)
    totals = Totals(**TOTALS)
    for step in range(40):
        clock[0] += 1
        totals.rows_in += step >= 20
        progress.show(totals)
    assert len(out.getvalue().splitlines()) == 5
    assert "\x1b" not in out.getvalue()


def test_each_micro_batch_has_its_own_line_without_a_terminal(clock):
    out = io.StringIO()
    progress = Progress(out)
    for _ in range(3):
        progress.show(Totals(**TOTALS, micro_batches=1), always=True)
    assert len(out.getvalue().splitlines()) == 3


def test_before_the_first_micro_batch_it_says_that_it_waits(clock):
    out = io.StringIO()
    progress = Progress(out)
    clock[0] += 6
    progress.show(Totals(micro_batches=0))
    assert out.getvalue() == "waiting for the first micro-batch, 6 s\n"


def test_the_summary_has_every_row_accounted_for(clock):
    totals = Totals(**TOTALS, dropped={"null item": 5, "other": 0}, answers=9, groups=3, micro_batches=1, seconds=2)
    assert summary(totals, "in counts/", starting=4.0) == [
        "rows in    1,234,567",
        "late       3 (dropped)",
        "null item  5 (left out)",
        "answers    9 in counts/",
        "state      42 retained in 3 groups",
        "took       2.0 s, 617,284 rows/s, 1 micro-batch, after 4.0 s to start",
    ]


def test_rows_that_are_answered_with_nulls_are_told_as_such_and_not_as_lost(clock):
    reasons = ("no multiple",)
    totals = Totals(rows_in=4, dropped={"no multiple": 4}, answered_reasons=reasons, may_be_empty=True)
    lines = summary(totals, "in counts/")
    assert "no multiple  4 (answered with nulls)" in lines
    assert not any(line.startswith("warning") for line in lines)


def test_rates_count_from_when_the_engine_is_ready(clock):
    progress = Progress(io.StringIO())
    clock[0] += 30
    progress.ready()
    clock[0] += 2
    assert progress.seconds() == 2


def test_compiling_kernels_is_announced_and_timed_separately(monkeypatch):
    monkeypatch.setattr("skyband_jobs.job.progress.EVERY_TERMINAL", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    out, totals = Terminal(), Totals(rows_in=100)
    inner = njit(lambda number: number + 1)
    outer = njit(lambda number: inner(number) * 2)
    started = time.monotonic()
    with announced(Progress(out), totals):
        assert outer(1) == 4
        told = out.getvalue()
        assert outer(2) == 6
        assert out.getvalue() == told
    assert re.search(r"compiling kernels, once on this machine: \d+ s$", told)
    assert 0 < totals.compiling <= time.monotonic() - started
    njit(lambda number: number - 1)(1)
    assert out.getvalue() == told


def test_the_summary_shows_compiling_kernels_separately():
    totals = Totals(rows_in=1000, answers=1, seconds=12, compiling=10)
    last = summary(totals, "in pairs/")[-1]
    assert last == "took     2.0 s, 500 rows/s, apart from 10.0 s to compile kernels, once on this machine"
    totals.compiling = 0.5
    assert summary(totals, "in pairs/")[-1] == "took     11.5 s, 87 rows/s"


@pytest.mark.parametrize(
    ("figures", "warning"),
    [
        ({}, "the source has no rows, so there are no answers"),
        ({"micro_batches": 0}, "the source has no rows"),
        ({"where": "day > 3"}, 'the source is empty, or no row meets source.where = "day > 3"'),
        ({"rows_in": 5}, "although rows came in: none met the conditions of [query]; lower its thresholds"),
        ({"rows_in": 5, "micro_batches": 2}, "no row is new enough to end a window; source.finish = true"),
        ({"rows_in": 5, "answers": 1}, None),
        ({"micro_batches": 0, "may_be_empty": True}, None),
        ({"rows_in": 5, "micro_batches": 2, "stopped": True}, None),
    ],
)
def test_no_answers_are_a_warning_unless_expected(figures, warning):
    last = summary(Totals(**figures), "in out")[-1]
    assert last.startswith("took") if warning is None else (last.startswith("warning: ") and warning in last)
