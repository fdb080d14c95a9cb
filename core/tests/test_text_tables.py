"""Tables and numbers: plain aligned text, or drawn on a terminal."""

import datetime
import io

import pytest
from skyband import text_tables


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


ROWS = [["sketch/exact", 12, 0.5, None], ["sketch/k-skb", 7, 1.0, "x"]]
HEADERS = ["backend", "n", "share", "note"]


def test_off_a_terminal_a_table_is_aligned_text():
    out = io.StringIO()
    text_tables.table(HEADERS, ROWS, out)
    assert out.getvalue() == ("backend        n  share  note\nsketch/exact  12    0.5\nsketch/k-skb   7      1  x\n")


def test_a_table_without_rows_is_its_heading():
    out = io.StringIO()
    text_tables.table(["a", "b"], [], out)
    assert out.getvalue() == "a  b\n"


@pytest.mark.parametrize("no_color", [False, True])
def test_on_a_terminal_it_is_drawn_and_no_color_is_honoured(monkeypatch, no_color):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    text_tables.table(HEADERS, ROWS, out, styles={"backend": "green"})
    assert "─" in out.getvalue()
    assert ("\x1b[32m" in out.getvalue()) is not no_color


def test_a_narrow_terminal_leaves_out_spare_columns_and_says_which(monkeypatch):
    head = ["backend", "guarantee", "error", "bytes", "snapshot", "rows/s", ""]
    rows = [["pcsa-ml", "bounded", "0.4 %", "1 KB", "2 KB", "3 M", ""]]
    spare = ("snapshot", "guarantee", "error")
    assert text_tables.fitting(head, rows, spare, 200, 32) == [0, 1, 2, 3, 4, 5], "nothing is said in the last one"
    assert [head[place] for place in text_tables.fitting(head, rows, spare, 39, 32)] == [
        "backend",
        "error",
        "bytes",
        "rows/s",
    ]
    assert [head[place] for place in text_tables.fitting(head, rows, spare, 1, 32)] == ["backend", "bytes", "rows/s"]
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "39")
    assert text_tables.table(head, rows, Terminal(), spare=spare) == ["guarantee", "snapshot"]
    assert text_tables.table(head, rows, io.StringIO(), spare=spare) == []


def test_values_are_never_treated_as_markup(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    text_tables.table(["[bold]"], [["[red]x[/red]"]], out)
    assert "[red]x[/red]" in out.getvalue()


def test_a_dumb_terminal_gets_text(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    out = Terminal()
    text_tables.table(["a"], [["b"]], out)
    assert out.getvalue() == "a\nb\n"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, ""),
        (True, "yes"),
        (3, "3"),
        (3.0, "3"),
        (1 / 3, "0.3333"),
        (0.25, "0.25"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        ("x", "x"),
        (datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC), "2026-01-02 03:04:00"),
        (datetime.datetime(2026, 1, 2, 3, 4, 5, 600), "2026-01-02 03:04:05.000600"),
        ([1, 2], "[1, 2]"),
    ],
)
def test_cells(value, said):
    assert text_tables.text(value) == said


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 KB"), (2_500_000, "2.5 MB"), (3e12, "3000.0 GB")]
)
def test_sizes(number, said):
    assert text_tables.size(number) == said
