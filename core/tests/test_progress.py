"""Progress: one live line on a terminal, plain lines elsewhere, and a summary that leaves nothing out."""

import io

import pytest
from skyband.job.progress import Progress, Totals, status, summary


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is told."""
    now = [100.0]
    monkeypatch.setattr("skyband.job.progress.time.monotonic", lambda: now[0])
    monkeypatch.setenv("TERM", "xterm")
    return now


TOTALS = {"rows_in": 1_234_567, "rows_late": 3, "retained": 42, "watermark": 3_600_000_000}


def test_the_status_line():
    totals = Totals(**TOTALS, seconds=10, state_bytes=2048)
    assert status(totals) in {
        "1,234,567 rows · 123,457 rows/s · watermark 1970-01-01 01:00:00 · 3 late · 42 retained, 2.0 KB",
        "1,234,567 rows | 123,457 rows/s | watermark 1970-01-01 01:00:00 | 3 late | 42 retained, 2.0 KB",
    }


def test_row_windows_have_a_row_as_watermark():
    assert "watermark 3,600,000,000" in status(Totals(**TOTALS, in_rows=True))


def test_the_rate_of_the_last_micro_batch_goes_before_that_of_the_run():
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


def test_elsewhere_there_is_a_line_every_few_seconds_where_something_is_new(clock):
    out = io.StringIO()
    progress = Progress(out)
    totals = Totals(**TOTALS)
    for step in range(40):
        clock[0] += 1
        totals.rows_in += step >= 20
        progress.show(totals)
    assert len(out.getvalue().splitlines()) == 5
    assert "\x1b" not in out.getvalue()


def test_each_micro_batch_has_a_line_of_its_own_elsewhere(clock):
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


def test_rates_count_from_when_the_engine_is_ready(clock):
    progress = Progress(io.StringIO())
    clock[0] += 30
    progress.ready()
    clock[0] += 2
    assert progress.seconds() == 2
