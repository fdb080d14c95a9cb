"""Broken row-aggregates, one bug each, beside the correct one they are made from: the definition."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define
from skyband import BackendInfo
from skyband.arrays import Array, Int64
from skyband_specs.faults import Mutant, faulty
from skyband_totals.row_aggregates.role import VALUE, RowAggregate


@define(eq=False)
class Reference(RowAggregate):
    """The value of the latest row, of several the largest, looked for anew in each window."""

    name: ClassVar[str] = "reference"
    keeps: ClassVar[str] = VALUE

    def gives(self, kind: pa.DataType) -> pa.DataType:
        return kind

    def _over(self, items: Any, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array | pa.Array:
        places = [
            self.place(items.keys, times, begin, end, question)
            for begins in first
            for begin, end, question in zip(begins, stop, range(len(stop)), strict=True)
        ]
        return items.at(np.array(places, np.int64))

    def place(self, keys: Array, times: Int64, begin: int, end: int, question: int) -> int:
        return max(range(begin, end), key=lambda place: (times[place], keys[place]), default=-1)

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> Any:
        keys = [value.encode() if isinstance(value, str) else value for value in values]
        rows = zip(times, keys, values, strict=True)
        return max(rows, key=lambda row: row[:2], default=(0, 0, None))[2]


class LastByArrival(Reference):
    """Of several rows of one time the last that came."""

    def place(self, keys: Array, times: Int64, begin: int, end: int, question: int) -> int:
        return end - 1 if end > begin else -1


class OneTooMany(Reference):
    """The row before the window is inside."""

    def place(self, keys: Array, times: Int64, begin: int, end: int, question: int) -> int:
        return super().place(keys, times, max(begin - 1, 0), end, question)


class LooksBack(Reference):
    """An empty window has the value of the row before it."""

    def place(self, keys: Array, times: Int64, begin: int, end: int, question: int) -> int:
        return super().place(keys, times, begin, end, question) if end > begin else begin - 1


class SeesOtherGroups(Reference):
    """Rows of the time at which the window ends are inside, whoever's they are."""

    def place(self, keys: Array, times: Int64, begin: int, end: int, question: int) -> int:
        if end > begin:
            while begin and times[begin - 1] == times[begin]:
                begin -= 1
        return super().place(keys, times, begin, end, question)


class RemembersQuestions(Reference):
    """The first question of a call is answered by the first row of all."""

    def place(self, keys: Array, times: Int64, begin: int, end: int, question: int) -> int:
        if question == 0 and end > begin:
            return max(begin - 3, 0)
        return super().place(keys, times, begin, end, question)


class ValuesIn32Bits(Reference):
    """Values are compared in 32 bits."""

    def place(self, keys: Array, times: Int64, begin: int, end: int, question: int) -> int:
        return super().place(keys.astype(np.float32), times, begin, end, question)


class GivesText(Reference):
    """Values are given as text."""

    def as_column(self, values: Array | pa.Array, kind: pa.DataType) -> pa.Array:
        return super().as_column(values, kind).cast(pa.string())


class NullIsAValue(Reference):
    """Nulls are kept as the smallest value, and given."""

    def update(self, times: Any, values: Any = None) -> None:
        if isinstance(values, pa.Array) and pa.types.is_integer(values.type):
            values = values.fill_null(0)
        super().update(times, values)


class ForgetsLater(Reference):
    """Rows stay for a while after they are to be forgotten."""

    def forget(self, before: int) -> None:
        super().forget(before - 20)


class NeverForgets(Reference):
    """Rows are never forgotten."""

    def forget(self, before: int) -> None:
        """Keep them."""


class GoesBack(Reference):
    """Takes what is wrong."""

    def over(self, since: Any, until: Any) -> pa.Array:
        return super().over(np.sort(since), np.sort(until))


class NothingIsZero(Reference):
    """A window is 0 before any row."""

    def over(self, since: Any, until: Any) -> pa.Array:
        return super().over(since, until) if len(self) else pa.array(np.zeros(len(np.asarray(since))))


class WritesOverAnswers(Reference):
    """What the caller gave is overwritten."""

    def over(self, since: Any, until: Any) -> Any:
        answer = super().over(since, until).to_pylist()
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros(1000)
        self._buffer[: len(answer)] = [hash(str(value)) % 1000 for value in answer]
        return _Lent(self._buffer[: len(answer)])


class _Lent(tuple):  # type: ignore[type-arg]
    """An answer that shows its array."""

    def __new__(cls, array: Array) -> "_Lent":
        return super().__new__(cls, (array,))

    def to_pylist(self) -> list[float]:
        values: list[float] = self[0].tolist()
        return values


def _info() -> BackendInfo:
    return BackendInfo(
        "row-aggregate", "reference", "mutants.row_aggregate:Reference", "for the tests", "exact", "by definition",
        {"merge": "for the tests", "out-of-order": "for the tests"},
    )  # fmt: skip


REFERENCES = [(_info(), Reference)]

_ORACLE = ("tiny_streams_equal_the_oracle", "seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle")

MUTANTS: list[Mutant] = [
    (_info(), LastByArrival, _ORACLE),
    (_info(), OneTooMany, _ORACLE),
    (_info(), LooksBack, (*_ORACLE, "values_have_the_type_that_is_given")),
    (_info(), SeesOtherGroups, ("other_groups_change_nothing",)),
    (_info(), RemembersQuestions, ("history_changes_nothing", "other_groups_change_nothing")),
    (_info(), ValuesIn32Bits, ("odd_streams_equal_the_oracle",)),
    (_info(), GivesText, ("values_have_the_type_that_is_given",)),
    (_info(), NullIsAValue, ("nulls_are_nothing",)),
    (_info(), ForgetsLater, ("forgotten_rows_are_not_read",)),
    (_info(), NeverForgets, ("steady_stream_holds_steady_memory", "forgotten_rows_are_not_read")),
    (_info(), GoesBack, ("bad_input_leaves_no_trace",)),
    (_info(), NothingIsZero, ("empty_columns_are_answered",)),
    (_info(), WritesOverAnswers, ("answers_are_the_callers",)),
    *faulty(_info(), Reference, globals()),
]
"""The checks see: every broken backend is caught by those it names, and every check catches at least one."""
