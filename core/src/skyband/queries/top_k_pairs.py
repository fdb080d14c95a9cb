"""top-k-pairs: the most similar pairs of sets in each window."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from attrs import define

from skyband.arrays import Array, Int64
from skyband.columns.hashing import hash_columns
from skyband.columns.ids import ValuesByArrival
from skyband.columns.keyed_frames import PART, TIME
from skyband.columns.rows import Rows
from skyband.columns.sides import WHAT as A_SIDE
from skyband.columns.sides import is_side, sides_of
from skyband.columns.tokens import WHAT as TOKENS
from skyband.columns.tokens import encode_tokens, is_tokens, sets_of_rows
from skyband.config.calendar_lengths import SO_FAR, Length, length
from skyband.config.durations import Duration
from skyband.config.parameters import checked, integer
from skyband.errors import ConfigError
from skyband.queries import state_arrays, top_k_merging
from skyband.queries.answer_columns import AnswerColumns
from skyband.queries.batched_processor import BatchedProcessor
from skyband.queries.carried_columns import TIE, carry_inputs, carry_parameter
from skyband.queries.composite_ids import Columns, identity, identity_inputs, several
from skyband.queries.pair_columns import (
    RowsOfPairs,
    carried_fields,
    encode_pair_columns,
    id_fields,
    name_problems,
    pair_names,
)
from skyband.queries.partitioning import PLACES as PLACE_BYTES
from skyband.queries.partitioning import Partitioning, by_cell, matrix_rows, places_of
from skyband.queries.processor import GroupProcessor
from skyband.queries.query import Input, Query, column_name, is_name
from skyband.queries.row_encoding import at_field, closed_length, too_short
from skyband.queries.schedule import Schedule
from skyband.queries.small_groups import SmallGroups, most_entries
from skyband.queries.window_parameters import (
    anew_schedule_of,
    every_parameter,
    not_anew,
    offset_parameter,
    problems_of,
)
from skyband.registry import Binding
from skyband.roles import PairRanker
from skyband.roles.pair_ranker import similarity_parameter

PLACES = ("left place", "right place")
"""Columns of a shard's answers: where the two sets stand in the order of all rows, as bytes."""


@define(eq=True)
class TopKPairs(Query):
    """Ranks the pairs of a window's sets by how alike they are: within one stream, or across two with `side`.

    Each row is a set of its own: two of one id can be a pair. Result columns: at, rank (from 1), left and right, the
    two ids, similarity. Within one stream left came before right; across two, left is of the left stream. Of equally
    similar pairs the one whose left came first ranks first, then the one whose right did. Rows of one time come in
    the order of their ids (integers ascending, others by hash), then of a hash of their tokens, so that all engines
    agree; with `carry`, then of a hash of what they carry.

    `id` may name several columns, which tell sets apart together: the answers of `id = ["host", "page"]` have
    left_host, left_page, right_host and right_page in the place of left and right. `carry = ["title"]` adds left_title
    and right_title, of the two rows.

    `similarity`: jaccard is o / (n + m - o), cosine o / sqrt(n m), dice 2 o / (n + m), overlap o, hamming 2 o - n - m,
    for two sets of n and m tokens that share o: all but overlap and hamming are from 0 to 1, overlap counts shared
    tokens, and hamming is the negative number of tokens in one set only.

    Pairs share at least one token. Repeated tokens count once, and a null in a list is no token. Rows without id,
    list, token or side are left out and counted; they do not count as rows of a window.

    On several shards each row goes to some of them, so that every two rows meet in one; each shard gives the best of
    the pairs it has found.
    """

    kind: ClassVar[str] = "top-k-pairs"
    roles: ClassVar[tuple[str, ...]] = ("pair-ranker",)
    compared_by: ClassVar[tuple[str, ...]] = ("left", "right")
    drop_reasons: ClassVar[tuple[str, ...]] = ("null id", "null tokens", "no tokens", "null side")

    id: Columns = identity(help="the column that names a set in the answers, or several that do together")
    tokens: str = column_name(help="the column of sets: lists of words or of whole numbers")
    k: int = integer(at_least=1, help="pairs in an answer")
    window: Length = length(help=f"length of the window, {SO_FAR}")
    every: Length = every_parameter()
    offset: Duration = offset_parameter()
    similarity: str | Callable[[int, int, int], float] = similarity_parameter()
    side: str | None = checked(
        None,
        type="column",
        check=lambda given: None if given is None else is_name(given),
        help='join two streams: the column that says "left" or "right", 0 or 1, false or true',
    )
    carry: tuple[str, ...] = carry_parameter(help="further columns of both rows to give with a pair")

    def __attrs_post_init__(self) -> None:
        problems = problems_of(self.every, self.offset, {"window": self.window})
        problems += not_anew(self.every, self.window, self.kind) if not problems else []
        problems += too_short(self.window)
        problems += name_problems(self.id, self.carry, ("at", "rank", "similarity", *self.by))
        if problems:
            raise ConfigError(*problems)

    @property
    def rows(self) -> bool:
        return self.window.rows

    @property
    def lengths(self) -> Mapping[str, Length]:
        return {"every": self.every, "window": self.window}

    @property
    def schedule(self) -> Schedule:
        """When it answers."""
        return anew_schedule_of(self.every, self.window, self.offset)

    @property
    def ties(self) -> tuple[str, ...]:
        return (*self._places, TIE) if self.carry else self._places

    @property
    def _places(self) -> tuple[str, ...]:
        """What tells the shards of a row, besides its time."""
        return ("code", "tie") if self.side is None else ("code", "side", "tie")

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return pair_names(self.id)

    def inputs(self) -> tuple[Input, ...]:
        joined = () if self.side is None else (Input("side", self.side, A_SIDE, is_side),)
        return (
            *identity_inputs("id", self.id),
            Input("tokens", self.tokens, TOKENS, is_tokens),
            *joined,
            *carry_inputs(self.carry),
        )

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        columns, masks = encode_tokens(batch.column(self.tokens))
        named, masks["null id"] = encode_pair_columns(self.id, self.carry, batch)
        columns |= named
        if self.side is not None:
            sides = batch.column(self.side)
            columns["side"] = pa.array(sides_of(sides))
            masks["null side"] = sides.is_null().to_numpy(zero_copy_only=False)
        return columns, {reason: masks[reason] for reason in self.drop_reasons if reason in masks}

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

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return _PairProcessor(self, bindings["pair-ranker"], answers)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> SmallGroups | None:
        """Where the answer is that of the definition, whatever the ranker, small groups are answered together."""
        parameters = self.backend_parameters("pair-ranker")
        most = most_entries(bindings["pair-ranker"], parameters)
        if not most:
            return None
        from skyband.roles.compiled_similarity import is_compilable  # on use, because it loads numba

        if not is_compilable(self.similarity):
            return None

        def processor(last: int, rows: Rows) -> GroupProcessor:
            return _PairProcessor(self, bindings["pair-ranker"], answers).begin_with(last, rows)

        from skyband.queries.small_pairs import SmallPairs
        from skyband.queries.small_row_windows import SmallRowWindows

        carry = [answers.field(f"left_{name}").type for name in (*several(self.id), *self.carry)]
        table = SmallPairs(
            most, self.schedule, self.window.length, parameters, answers, processor,
            ids=len(several(self.id)), carry=carry,
        )  # fmt: skip
        return SmallRowWindows(table) if self.rows else table

    @property
    def one_shard(self) -> str | None:
        return super().one_shard if self.rows else None

    def partition(self, frame: pa.RecordBatch, shards: int) -> Partitioning:
        """Rows with nothing to tell them apart go to the same shards."""
        rows = matrix_rows(shards)
        return by_cell(hash_columns([frame.column(name) for name in (TIME, *self._places)]), rows, shards // rows)

    def shard_fields(self, schema: pa.Schema) -> list[pa.Field]:
        return [*self.answer_fields(schema), *(pa.field(name, pa.binary()) for name in PLACES)]

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no pair, so the best of all are among the best of each."""
        ranked = top_k_merging.merge_top_k(
            answers, ["at"], [("similarity", "descending"), *((name, "ascending") for name in PLACES)]
        )
        return top_k_merging.truncate(ranked, self.k, [name for name in answers.column_names if name not in PLACES])


class _PairProcessor(BatchedProcessor):
    no_rows: ClassVar[Rows] = Rows(
        np.empty(0, np.int64),
        {"tokens": pa.array([], pa.large_list(pa.int64())), "side": np.empty(0, np.int8), PART: np.empty(0, np.int8)},
    )

    def __init__(self, query: TopKPairs, ranker: Binding, answers: pa.Schema) -> None:
        self._binding = ranker
        self._backend_parameters = query.backend_parameters("pair-ranker")
        self._schema = answers
        self._named = (query.id, query.carry)
        self._shared = PLACES[0] in answers.names
        super().__init__(query.every.length, query.window.length, query.rows, query.schedule)

    def begin(self) -> None:
        self._ranker = cast(PairRanker, self._binding.create(**self._backend_parameters))
        self._ids = RowsOfPairs(*self._named, self._schema)
        self._places = ValuesByArrival(PLACE_BYTES)

    def begin_with(self, last: int, rows: Rows) -> "_PairProcessor":
        """Go on from the sets of a small group, the moments up to the last row's time being answered."""
        if self._rows:
            self._ranker.advance(int(rows.times[0]))
        self.feed(rows.times, rows, np.empty(0, np.int64))
        self.go_on_from(last)
        return self

    def feed(self, times: Int64, rows: Rows, asked: Int64) -> AnswerColumns | None:
        sides = rows["side"] if self._ranker.sides == 2 else None
        marks = asked - (self._ranker.by == "time")
        parts = rows[PART] if self._shared else None
        found = self._ranker.answers(times, *sets_of_rows(rows), marks, sides, parts)
        if len(times):
            self._ids.update(times, self._ids.columns(rows))
        if len(times) and self._shared:
            self._places.update(times, places_of(times, rows["code"], rows["tie"]))
        answers = self._answers(asked, *found)
        # The next moment is after the last one and after the last row.
        gone = max([*asked[-1:].tolist(), *times[-1:].tolist()]) + 1 - self._horizon
        self._ids.forget(gone)
        self._places.forget(gone)
        return answers

    def _answers(self, asked: Int64, cuts: Int64, left: Int64, right: Int64, similarity: Array) -> AnswerColumns:
        sizes, ids = cuts[1:] - cuts[:-1], self._ids.ids
        both = self._ids.of(np.concatenate([left, right]))
        pair = [[column.slice(start, len(left)) for column in both] for start in (0, len(left))]
        columns = [
            asked.repeat(sizes),
            np.arange(1, len(left) + 1) - cuts[:-1].repeat(sizes),
            *(column for side in pair for column in side[:ids]),
            similarity,
            *(column for side in pair for column in side[ids:]),
        ]
        if self._shared:
            columns += [self._places.of(numbers).cast(pa.binary()) for numbers in (left, right)]
        return AnswerColumns(self._schema, columns)

    @property
    def retained(self) -> int:
        return len(self._ranker)

    @property
    def nbytes(self) -> int:
        return self._ranker.nbytes

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        named = state_arrays.frame_to_array("ids", self._ids.frame()) | state_arrays.frame_to_array(
            "places", self._places.frame()
        )
        return {"clock": self.clock()}, state_arrays.with_prefix("ranker", self._ranker.dump_state()) | named

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.set_clock(header["clock"])
        self._ranker.load_state(state_arrays.without_prefix("ranker", arrays))
        self._ids.load_state(state_arrays.frame_from_array("ids", arrays, self._ids.frame()), self._ranker.seen)
        self._places.load_state(
            state_arrays.frame_from_array("places", arrays, self._places.frame()), self._ranker.seen
        )
