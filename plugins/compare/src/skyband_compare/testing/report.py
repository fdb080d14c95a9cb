"""Reports a difference as a line and a table, or as JSON."""

import io
from typing import Any

from skyband import text_tables

from skyband_compare.testing.difference import DIFFERS, EXTRA, MISSING, Difference, Discrepancy
from skyband_compare.testing.job_on_rows import Answers

FIRST_ROWS = 20
"""The rows shown by default."""


def headline(difference: Difference, file: str) -> str:
    """The numbers of unexpected rows."""
    counts = ((difference.count(kind), kind) for kind in (MISSING, EXTRA, DIFFERS))
    parts = ", ".join(f"{number:,} {_verb(kind, number)}" for number, kind in counts if number)
    return f"{counted(difference.answers)}, {difference.expected:,} expected in {file}: {parts}"


def counted(answers: int) -> str:
    """The number of answers in words."""
    return f"{answers:,} answer{'' if answers == 1 else 's'}"


def table(difference: Difference, most: int | None = FIRST_ROWS, out: Any = None) -> None:
    """Write the unexpected rows, at most `most`."""
    first = difference.rows if most is None else difference.rows[:most]
    rows = [[row.kind, *_cells(row, difference.columns)] for row in first]
    text_tables.table(["", *difference.columns], rows, out, flush=[False, *difference.flush])
    more = len(difference.rows) - len(first)
    if more:
        print(f"and {more:,} more", file=out)


def message(difference: Difference, file: str) -> str:
    """The line and the table as one text."""
    out = io.StringIO()
    table(difference, out=out)
    return f"{headline(difference, file)}\n{out.getvalue().rstrip()}"


def fared(answers: Answers) -> str:
    """What happened to the rows."""
    totals = answers.totals
    parts = [f"{totals.rows_in:,} rows in"]
    parts += [f"{totals.rows_late:,} late"] if totals.rows_late else []
    parts += [f"{number:,} {reason}" for reason, number in totals.dropped.items() if number]
    if answers.job.source.stream and not answers.job.source.finish and not totals.in_rows:
        parts.append(f"answered to the watermark, {text_tables.moment(totals.watermark)}")
    return ", ".join(parts)


def as_data(answers: Answers, difference: Difference) -> dict[str, Any]:
    """The report as data for JSON."""
    totals, names = answers.totals, difference.columns

    def row(values: tuple[Any, ...] | None) -> dict[str, Any]:
        return dict(zip(names, map(_plain, values or ()), strict=True))

    by_kind = {kind: [entry for entry in difference.rows if entry.kind == kind] for kind in (MISSING, EXTRA, DIFFERS)}
    return {
        "job": str(answers.job.path),
        "as_expected": not difference,
        "rows_in": totals.rows_in,
        "rows_late": totals.rows_late,
        "dropped": dict(totals.dropped),
        "answers": difference.answers,
        "expected": difference.expected,
        "not_compared": list(difference.left_out),
        "missing": [row(entry.expected) for entry in by_kind[MISSING]],
        "too_much": [row(entry.answer) for entry in by_kind[EXTRA]],
        "differs": [
            {"answer": row(entry.answer), "expected": row(entry.expected), "columns": list(entry.columns)}
            for entry in by_kind[DIFFERS]
        ],
    }


def _verb(kind: str, number: int) -> str:
    return "differ" if kind == DIFFERS and number > 1 else kind


def _cells(row: Discrepancy, names: tuple[str, ...]) -> list[str]:
    values = row.answer or row.expected or ()
    should = row.expected or values
    return [
        f"{_text(value) or 'nothing'} (expected {_text(other) or 'nothing'})" if name in row.columns else _text(value)
        for name, value, other in zip(names, values, should, strict=True)
    ]


def _text(value: Any) -> str:
    """A value in full, so that different values differ as text."""
    return text_tables.text(repr(value).removesuffix(".0") if isinstance(value, float) else value)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else text_tables.text(value)
