"""near-duplicates: which earlier sets in the window each row is similar to, and which rows are new."""

from collections.abc import Callable
from typing import Any, ClassVar

import pyarrow as pa
from attrs import define
from skyband.config.durations import Duration, duration
from skyband.config.parameters import choice, number
from skyband.errors import ConfigError, Problem
from skyband.groups.per_row_processor import time_field
from skyband.queries.carried_columns import carry_fields, carry_inputs, name_problems
from skyband.queries.composite_ids import Columns, identity, identity_fields, identity_names, several
from skyband.queries.query import Input
from skyband.queries.shared_keys import column_name, column_names
from skyband.roles.pair_ranker import similarity_parameter
from skyband.windows.window_parameters import closed_length, too_short

from skyband_setjoin.set_matcher import FIRST, keep_parameter, matches_parameter, threshold_fault
from skyband_setjoin.set_query import SetQuery, side_parameter

PAIRS, ROWS, KEPT = "pairs", "rows", "kept"


PLACE, MATCH_PLACE = "row place", "match place"
"""Columns of a shard's answers: the places of a row and of its match in the order of all rows, as bytes."""


def match_names(named: Columns) -> tuple[str, ...]:
    """The names of a match's id in answers: match, or match_host and match_page if it has several columns."""
    return tuple(f"match_{name}" for name in several(named)) or ("match",)


def carried_of_match(carried: tuple[str, ...]) -> list[str]:
    """The names of a match's carried columns in answers."""
    return [f"match_{name}" for name in carried]


@define(eq=True)
class NearDuplicates(SetQuery):
    """Matches each row's set with earlier sets in the window that are at least `threshold` similar.

    Result columns: time and id of the row; match and match_time, those of the earlier row; similarity; then the row's
    columns in `carry` and the earlier row's in `carry_match`: `carry_match = ["text"]` adds match_text. `output` =
    "pairs" has a row for each match. "rows" also has a row for each source row without a match, with nulls. "kept" has
    only the rows without a match: time, id and carried columns. An answer belongs to the later row: it is given when
    the watermark passes that row, and never changes.

    Columns in `carry` cost no memory after the answer; those in `carry_match` are kept for the window.

    Two rows are compared if they are less than the window apart. Rows with equal times are ordered by id (integers
    ascending, others by hash), then by a hash of their tokens, then by carried columns, so that all engines agree
    which is earlier.

    With `keep = "first"` a row with a match is dropped, and later rows are compared with kept ones only. So no two kept
    rows less than a window apart match, and each dropped row has a kept match less than a window before it. With
    `matches = 1` a row's match, or else its own id, is a permanent name of its cluster.

    Matches share at least one token. Repeated tokens count once, a null in a list is not a token, and a row with an
    empty or null list matches nothing. Rows without id or side are dropped and counted; they do not count as rows of a
    window. Rows later than `delay` are dropped and counted: they are neither kept nor reported as duplicates.

    `id` may be several columns, which identify a row together: the answers of `id = ["host", "page"]` have host, page,
    match_host and match_page instead of id and match.

    With several shards, each row goes to some of them, so that every two rows are compared in one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> texts = {"id": [1, 2, 3], "words": [["a", "b", "c"], ["x"], ["a", "b", "c", "d"]]}
    >>> rows = pa.table({"ts": pa.array([0, 10, 20], pa.timestamp("s")), **texts})
    >>> query = NearDuplicates("ts", id="id", tokens="words", similarity="jaccard", threshold=0.7, window="1 minute")
    >>> local.apply(rows, query).select(["id", "match", "similarity"]).to_pylist()
    [{'id': 3, 'match': 1, 'similarity': 0.75}]
    """

    kind: ClassVar[str] = "near-duplicates"
    roles: ClassVar[tuple[str, ...]] = ("set-matcher",)
    answered_by: ClassVar[str] = "skyband_setjoin.near_duplicates.execution:NearDuplicatesExecution"
    drop_reasons: ClassVar[tuple[str, ...]] = ("null id", "null side")

    id: Columns = identity(help="the column that identifies a row in answers, or several that identify it together")
    tokens: str = column_name(help="the column of sets: lists of words or whole numbers")
    threshold: float = number(help="how similar two sets must be to match")
    window: Duration = duration(help="two rows are compared if they are less than this apart")
    similarity: str | Callable[[int, int, int], float] = similarity_parameter()
    matches: str | int = matches_parameter()
    keep: str = keep_parameter()
    output: str = choice(
        PAIRS, ROWS, KEPT, default=PAIRS,
        help='"pairs": a row for each match; "rows": all rows, with or without a match; "kept": rows without one',
    )  # fmt: skip
    carry: tuple[str, ...] = column_names(help="further columns of the row to include in its answer")
    carry_match: tuple[str, ...] = column_names(
        help="columns of the earlier row to include with a match, as match_text for text; null without a match"
    )
    side: str | None = side_parameter()

    def __attrs_post_init__(self) -> None:
        problems = []
        fault = threshold_fault(self.similarity, self.threshold)
        if fault:
            problems.append(Problem("threshold", fault))
        problems += too_short(self.window)
        if self.keep == FIRST and self.side is not None:
            message = f'"first" is for one stream: remove it, or side = {self.side!r}'
            problems.append(Problem("keep", message))
        problems += self._name_problems()
        if problems:
            raise ConfigError(*problems)

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
            "window": closed_length(self.window),
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
