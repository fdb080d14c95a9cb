"""top-k-pairs: the most similar pairs of sets in each window."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pyarrow as pa
from attrs import define
from skyband.config.calendar_lengths import SO_FAR, Length, length
from skyband.config.durations import Duration
from skyband.config.parameters import integer
from skyband.errors import ConfigError
from skyband.queries.composite_ids import Columns, identity
from skyband.queries.pair_columns import carried_fields, id_fields, name_problems, pair_names
from skyband.queries.shared_keys import column_name, column_names
from skyband.queries.time_columns import at_field
from skyband.roles.pair_ranker import similarity_parameter
from skyband.windows.schedule import Schedule
from skyband.windows.window_parameters import (
    anew_schedule_of,
    closed_length,
    every_parameter,
    not_anew,
    offset_parameter,
    problems_of,
    too_short,
)

from skyband_setjoin.pair_query import side_parameter
from skyband_setjoin.set_query import SetQuery

PLACES = ("left place", "right place")
"""Columns of a shard's answers: the places of the two sets in the order of all rows, as bytes."""


@define(eq=True)
class TopKPairs(SetQuery):
    """Ranks the pairs of a window's sets by similarity: within one stream, or across two with `side`.

    Each row is a separate set: two rows with one id can be a pair. Result columns: at, rank (from 1), left and right,
    the two ids, similarity. Within one stream left arrived before right; across two, left is from the left stream. Ties
    are broken by which left, then which right, arrived first. Rows with equal times are ordered by id (integers
    ascending, others by hash), then by a hash of their tokens, then by a hash of the columns in `carry`, so that all
    engines agree.

    `id` may be several columns, which identify a set together: the answers of `id = ["host", "page"]` have left_host,
    left_page, right_host and right_page instead of left and right. `carry = ["title"]` adds left_title and
    right_title.

    `similarity`: jaccard is o / (n + m - o), cosine o / sqrt(n m), dice 2 o / (n + m), overlap o, hamming 2 o - n - m,
    for two sets of n and m tokens that share o. Overlap counts shared tokens, and hamming is the negative number of
    tokens in one set only; the others range from 0 to 1.

    Pairs share at least one token. Repeated tokens count once, and a null in a list is not a token. Rows without id,
    list, token or side are dropped and counted; they do not count as rows of a window.

    With several shards, each row goes to some of them, so that every two rows are compared in one; each shard returns
    the best of its pairs.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> texts = {"id": [1, 2, 3], "words": [["a", "b", "c"], ["x"], ["a", "b", "c", "d"]]}
    >>> rows = pa.table({"ts": pa.array([0, 10, 20], pa.timestamp("s")), **texts})
    >>> query = TopKPairs("ts", id="id", tokens="words", similarity="jaccard", k=1, window="1 minute", every="1 minute")
    >>> local.apply(rows, query).select(["left", "right", "similarity"]).to_pylist()
    [{'left': 1, 'right': 3, 'similarity': 0.75}]
    """

    kind: ClassVar[str] = "top-k-pairs"
    roles: ClassVar[tuple[str, ...]] = ("pair-ranker",)
    answered_by: ClassVar[str] = "skyband_setjoin.top_k_pairs.execution:TopKPairsExecution"
    drop_reasons: ClassVar[tuple[str, ...]] = ("null id", "null tokens", "no tokens", "null side")

    id: Columns = identity(help="the column that identifies a set in answers, or several that identify it together")
    tokens: str = column_name(help="the column of sets: lists of words or whole numbers")
    k: int = integer(at_least=1, help="pairs in an answer")
    window: Length = length(help=f"length of the window, {SO_FAR}")
    every: Length = every_parameter()
    offset: Duration = offset_parameter()
    similarity: str | Callable[[int, int, int], float] = similarity_parameter()
    side: str | None = side_parameter()
    carry: tuple[str, ...] = column_names(help="further columns of both rows to include with a pair")

    def __attrs_post_init__(self) -> None:
        problems = problems_of(self.every, self.offset, {"window": self.window})
        problems += not_anew(self.every, self.window, self.kind) if not problems else []
        problems += too_short(self.window)
        problems += name_problems(self.id, self.carry, ("at", "rank", "similarity", *self.by))
        if problems:
            raise ConfigError(*problems)

    @property
    def lengths(self) -> Mapping[str, Length]:
        return {"every": self.every, "window": self.window}

    @property
    def schedule(self) -> Schedule:
        """When it answers."""
        return anew_schedule_of(self.every, self.window, self.offset)

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return pair_names(self.id)

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        ranked = [at_field(self, schema), pa.field("rank", pa.int64()), *id_fields(self.id, schema)]
        return [*ranked, pa.field("similarity", pa.float64()), *carried_fields(self.carry, schema)]

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        return {
            "k": self.k,
            "window": closed_length(self.window),
            "similarity": self.similarity,
            "sides": 1 if self.side is None else 2,
            "by": "rows" if self.rows else "time",
        }

    @property
    def one_shard(self) -> str | None:
        return super().one_shard if self.rows else None
