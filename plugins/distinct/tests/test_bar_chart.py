"""The demo's bar chart in a terminal."""

import io

from skyband_distinct.demo.bar_chart import bars


def test_bars_fall_back_to_ascii(monkeypatch):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert all(line.isascii() for line in bars([0, 4], ["a", "b"]))


def test_bars_are_scaled_to_the_largest_value():
    lines = bars([0, 5, 10], ["a", "b", "c"], height=2)
    assert lines == ["10   █", " 0  ██", "   a"]


def test_labels_on_the_axis_do_not_touch():
    lines = bars(list(range(20)), [f"{n:02}:00" for n in range(20)])
    assert lines[-1].split() == ["00:00", "08:00", "16:00"]
    assert lines[-1].index("08:00") - lines[-1].index("00:00") == 8


def test_a_chart_without_values_says_so():
    assert bars([], []) == ["nothing to show"]
