"""A bar chart in the terminal: counts over time, several lines high."""

from collections.abc import Sequence

from skyband import text_tables

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_HALVES = " .:"


def bars(values: Sequence[float], labels: Sequence[str], height: int = 5) -> list[str]:
    """The lines of a bar chart from 0 to the largest value, with labels below where they fit."""
    if not values:
        return ["nothing to show"]
    marks = _EIGHTHS if text_tables.can_show(_EIGHTHS) else _HALVES
    steps = len(marks) - 1
    top = max(values) or 1
    levels = [round(value / top * height * steps) for value in values]
    margin = len(text_tables.count(top))
    lines = []
    for line in range(height - 1, -1, -1):
        line_text = "".join(marks[min(max(level - line * steps, 0), steps)] for level in levels)
        left = text_tables.count(top) if line == height - 1 else "0" if line == 0 else ""
        lines.append(f"{left:>{margin}} {line_text}".rstrip())
    return [*lines, f"{'':>{margin}} {_axis(labels)}"]


def _axis(labels: Sequence[str]) -> str:
    """Labels below their bars, at equal steps so that none touch."""
    step = max(len(label) for label in labels) + 3
    axis = ""
    for place in range(0, len(labels), step):
        axis = axis.ljust(place) + labels[place]
    return axis
