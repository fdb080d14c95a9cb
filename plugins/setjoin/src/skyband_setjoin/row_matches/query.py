"""The base of queries that answer each row with its matches: their keys, their answers, and how shards share rows."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pyarrow as pa
from skyband.arrays import Int64
from skyband.config.calendar_lengths import SO_FAR, CalendarLength, Length, length
from skyband.config.literals import literal
from skyband.config.parameters import choice
from skyband.errors import Problem
from skyband.groups.per_row_processor import time_field
from skyband.queries.carried_columns import carry_fields, carry_inputs, name_problems
from skyband.queries.composite_ids import Columns, identity_fields, identity_names, several
from skyband.queries.query import Input
from skyband.queries.shared_keys import column_names
from skyband.windows.schedule import EachRow
from skyband.windows.window_parameters import too_short

from skyband_setjoin.pair_query import PairQuery
from skyband_setjoin.set_matcher import FIRST

PAIRS, ROWS, KEPT = "pairs", "rows", "kept"

PLACE, MATCH_PLACE = "row place", "match place"
"""Columns of a shard's answers: the places of a row and of its match in the order of all rows, as bytes."""


def match_names(named: Columns) -> tuple[str, ...]:
    """The names of a match's id in answers: match, or match_host and match_page if it has several columns."""
    return tuple(f"match_{name}" for name in several(named)) or ("match",)


def carried_of_match(carried: tuple[str, ...]) -> list[str]:
    """The names of a match's carried columns in answers."""
    return [f"match_{name}" for name in carried]


def _calendar_problems(window: Length) -> list[Problem]:
    """Problems of a window of the calendar."""
    if not isinstance(window, CalendarLength):
        return []
    if window.column is not None:
        message = f'must name one zone for all rows, such as "today in Europe/Paris" (got {literal(window.text)})'
        return [Problem("window", message)]
    if not window.so_far:
        so_far = "today" if window.unit == "day" else f"this {window.unit}"
        message = f"is of whole {window.unit}s, but each row is answered at its own time"
        instead = f'write "{so_far} in {window.zone}", or a length such as "24 hours"'
        return [Problem("window", f"{message}: {instead} (got {literal(window.text)})")]
    return []


def window_parameter() -> Any:
    """The field `window`."""
    return length(help=f"two rows are compared if they are less than this apart, or both in it: {SO_FAR}")


def output_parameter() -> Any:
    """The field `output`."""
    return choice(
        PAIRS, ROWS, KEPT, default=PAIRS,
        help='"pairs": a row for each match; "rows": all rows, with or without a match; "kept": rows without one',
    )  # fmt: skip


def carry_match_parameter() -> Any:
    """The field `carry_match`."""
    return column_names(
        help="columns of the earlier row to include with a match, as match_text for text; null without a match"
    )


class MatchingQuery(PairQuery):
    """A query with the fields below, which answers each row with its matches among the rows before it."""

    window: Length
    threshold: Any
    similarity: Any
    matches: str | int
    keep: str
    output: str
    carry_match: tuple[str, ...]

    drop_reasons: ClassVar[tuple[str, ...]] = ("null id", "null side")

    def matching_problems(self) -> list[Problem]:
        """Problems with these fields, apart from `threshold` and `similarity`."""
        problems = [*too_short(self.window), *_calendar_problems(self.window)]
        if self.keep == FIRST and self.side is not None:
            message = f'"first" is for one stream: remove it, or side = {self.side!r}'
            problems.append(Problem("keep", message))
        return problems + self._name_problems()

    def _name_problems(self) -> list[Problem]:
        """Problems with carried columns whose names in answers are already taken."""
        matched = () if self.output == KEPT else (*match_names(self.id), "match_time", "similarity")
        others = ("time", *matched, PLACE, MATCH_PLACE, *self.by)
        reserved = {*others, *identity_names("id", self.id)}
        problems = name_problems("id", several(self.id), others)
        problems += name_problems("carry", self.carry, reserved)
        if self.output == KEPT and self.carry_match:
            message = 'needs matches, and output = "kept" has none: remove it, or choose "pairs" or "rows"'
            return [*problems, Problem("carry_match", message)]
        message = "like another column: rename one of the two in the source"
        return problems + [
            Problem("carry_match", f"{name!r} would be called {answer_name!r} in answers, {message}")
            for name, answer_name in zip(self.carry_match, carried_of_match(self.carry_match), strict=True)
            if answer_name in reserved or answer_name in self.carry
        ]

    @property
    def lengths(self) -> Mapping[str, Length]:
        return {"window": self.window}

    @property
    def schedule(self) -> Any:
        """When a group's window is empty: an `EachRow` or, over the calendar, an `EachRowOfUnit`."""
        if not isinstance(self.window, CalendarLength):
            return EachRow(self.window.length)
        from skyband_setjoin.row_matches.unit_schedule import schedule_of  # on use, as few queries have a calendar

        return schedule_of(self.window)

    def empty_at(self, last: int) -> int:
        """When the window is empty after a row at this time."""
        window = self.window
        return int(self.schedule.empty_at(last)) if isinstance(window, CalendarLength) else last + window.length

    def places_of(self, times: Int64) -> Int64:
        """int64[n]: what matchers get for times: rows are compared if these are less than `place_length` apart.

        Over windows of the calendar it is when the day, or other unit, of each row began.
        """
        return self.schedule.beginnings(times) if isinstance(self.window, CalendarLength) else times

    @property
    def place_length(self) -> int:
        """The length of the window in the numbers of `places_of`, or in rows."""
        return 2 if isinstance(self.window, CalendarLength) else self.window.length

    @property
    def carried_names(self) -> tuple[str, ...]:
        """The distinct columns carried of either row, those of `carry` first."""
        return tuple(dict.fromkeys([*self.carry, *self.carry_match]))

    @property
    def compared_columns(self) -> tuple[str, ...]:
        matched = () if self.output == KEPT else match_names(self.id)
        return (*identity_names("id", self.id), *matched)

    def inputs(self) -> tuple[Input, ...]:
        return (*super().inputs(), *carry_inputs(self.carry_match, "carry_match"))

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        time, ids = time_field(self, schema), identity_fields("id", self.id, schema)
        fields = [time, *ids]
        if self.output != KEPT:
            matched = [field.with_name(name) for field, name in zip(ids, match_names(self.id), strict=True)]
            fields += [*matched, pa.field("match_time", time.type), pa.field("similarity", pa.float64())]
        of_match = carry_fields(self.carry_match, schema)
        named = zip(of_match, carried_of_match(self.carry_match), strict=True)
        return [*fields, *carry_fields(self.carry, schema), *(field.with_name(name) for field, name in named)]

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        return {
            "threshold": self.threshold,
            "window": self.place_length - (not self.rows),
            "similarity": self.similarity,
            "matches": 1 if self.output == KEPT else self.matches,
            "keep": self.keep,
            "sides": 1 if self.side is None else 2,
            "by": "rows" if self.rows else "time",
        }

    @property
    def one_shard(self) -> str | None:
        if self.rows:
            return super().one_shard
        return 'keep = "first" decides on each row by all rows before it' if self.keep == FIRST else None
