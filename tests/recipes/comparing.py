"""Whether the answers to one of the sixteen questions are those expected."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

CARRIED = {
    "Which pages are missed most, and who asked last": 2,
    "Which exchanges had the largest trade of each symbol": 1,
    "Which exchange had the smallest trade, each exchange once": 1,
}
"""How many last columns are of the latest row, of which there may be several: the oracle lists them all."""
FRACTIONS = (
    "Where was it coldest on average, below 0 too",
    "What is the mean of doubtful readings in the last day",
    "Which readings are near each other, by two values",
)
"""Questions whose answers are sums of fractions, of which the last digits depend on the order."""


def check_answers(question: str, answers: pa.Table, expected: list[tuple]) -> None:
    """All rows are those expected: equal, or within 1e-9 where they are sums of fractions."""
    found, carried = rows_of(answers), CARRIED.get(question, 0)
    assert len(found) == len(expected)
    if carried:
        choices = {row[:-1]: row[-1] for row in expected}
        chosen = {row[:-carried]: row[-carried:] for row in found}
        assert chosen.keys() == choices.keys()
        assert [row for row, columns in chosen.items() if columns not in choices[row]] == []
    elif question in FRACTIONS:
        check_close(answers, expected)
    else:
        assert sorted(found, key=repr) == sorted(expected, key=repr)


def check_close(answers: pa.Table, expected: list[tuple]) -> None:
    """All rows are those expected, numbers within 1e-9."""
    found = sorted(rows_of(answers), key=_without_fractions)
    for row, other in zip(found, sorted(expected, key=_without_fractions), strict=True):
        assert row == pytest.approx(other, rel=1e-9, abs=1e-9)


def _without_fractions(row: tuple) -> str:
    return repr([f"{value:.5g}" if isinstance(value, float) else value for value in row])


def rows_of(answers: pa.Table) -> list[tuple]:
    """Answers as tuples, instants as microseconds."""
    columns = [
        pc.cast(column, pa.timestamp("us", column.type.tz)).cast(pa.int64())
        if pa.types.is_timestamp(column.type)
        else column
        for column in answers.columns
    ]
    return list(zip(*(column.to_pylist() for column in columns), strict=True))
