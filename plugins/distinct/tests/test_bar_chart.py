"""The picture of counts that the demo draws on a terminal."""

import io

from skyband_distinct.demo.bar_chart import bars


def test_where_bars_cannot_be_shown_there_is_ascii(monkeypatch):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert all(line.isascii() for line in bars([0, 4], ["a", "b"]))


def test_a_picture_is_as_high_as_its_values():
    lines = bars([0, 5, 10], ["a", "b", "c"], height=2)
    assert lines == ["10   █", " 0  ██", "   a"]


def test_the_axis_has_room_between_its_labels():
    lines = bars(list(range(20)), [f"{n:02}:00" for n in range(20)])
    assert lines[-1].split() == ["00:00", "08:00", "16:00"]
    assert lines[-1].index("08:00") - lines[-1].index("00:00") == 8


def test_a_picture_of_nothing_says_so():
    assert bars([], []) == ["nothing to show"]
