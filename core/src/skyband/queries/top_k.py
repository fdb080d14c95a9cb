"""top-k: the best objects of each window, whose values arrive in separate streams."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define

from skyband import frames
from skyband.arrays import Array, Int64, within
from skyband.durations import Duration, duration
from skyband.errors import ConfigError, InputError, Problem, suggest
from skyband.hashing import hash_column
from skyband.parameters import checked, integer, number
from skyband.queries import states, tops
from skyband.queries.encoding import at_field, moments
from skyband.queries.fed_lane import FedLane
from skyband.queries.lane import Lane, Rows
from skyband.queries.names import PLAIN, Names, identify, nameable, spelled_as
from skyband.queries.numbers import as_float64, is_number
from skyband.queries.query import Input, Query, column_name
from skyband.registry import Binding
from skyband.roles import ObjectRanker
from skyband.roles.object_ranker import aggregate_parameter, repeats_parameter


def _named(kind: pa.DataType) -> bool:
    kind = spelled_as(kind)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)


def _check_streams(value: Any) -> str | None:
    if not isinstance(value, tuple) or not value or not all(isinstance(name, str | int) for name in value):
        return f"must be the list of the streams' names (got {value!r})"
    if len({type(name) for name in value}) > 1:
        return f"mixes text and numbers (got {value!r})"
    return "names a stream twice" if len(set(value)) < len(value) else None


@define(eq=True)
class TopK(Query):
    """Ranks objects by the values that several streams report of them, each at its own time.

    Result columns: at, rank (from 1), object, score. Of equal scores the smaller object ranks first where objects are
    integers, otherwise (decimals too) the one of smaller hash, so that all engines agree. Rows whose object or value is
    null say nothing, and rows that break `repeats` are not summed: they are left out and counted.
    """

    kind: ClassVar[str] = "top-k"
    roles: ClassVar[tuple[str, ...]] = ("object-ranker",)
    shard_by: ClassVar[str | None] = "key"
    leaves_out: ClassVar[tuple[str, ...]] = ("null object", "null value", "repeated report")

    object: str = column_name(help="the column that names the object a row is about")
    stream: str = column_name(help="the column that names the stream a row comes from")
    value: str = column_name(help="the column of values, from 0 to `upper`")
    streams: tuple[str | int, ...] = checked(
        type="list",
        check=_check_streams,
        bounds="names as the column `stream` holds them, none twice",
        help="all streams there are, in the order of the weights",
        converter=lambda given: tuple(given) if isinstance(given, list) else given,
    )
    k: int = integer(at_least=1, help="objects in an answer")
    window: Duration = duration(help="length of the window")
    every: Duration = duration(help="how often to answer, aligned to the epoch (or to the first row)")
    aggregate: Any = aggregate_parameter()
    upper: float = number(1.0, above=0, help="no value is above this")
    repeats: str | int = repeats_parameter()

    def __attrs_post_init__(self) -> None:
        problems = []
        if self.every.rows != self.rows:
            unit = "rows" if self.rows else "time"
            problems.append(Problem("every", f"must be in {unit}, as the window is (got {self.every})"))
        if isinstance(self.aggregate, tuple) and len(self.aggregate) != len(self.streams):
            message = f"must hold a weight for each of the {len(self.streams)} streams (got {len(self.aggregate)})"
            problems.append(Problem("aggregate", message))
        if problems:
            raise ConfigError(*problems)

    @property
    def rows(self) -> bool:
        return self.window.rows

    @property
    def order(self) -> tuple[str, ...]:
        return ("object", "stream", "value")

    def inputs(self) -> tuple[Input, ...]:
        return (
            Input("object", self.object, PLAIN, nameable),
            Input("stream", self.stream, "a string or a whole number", _named),
            Input("value", self.value, "a number", is_number),
        )

    def check(self, schema: pa.Schema) -> list[Problem]:
        problems = super().check(schema)
        kind = spelled_as(schema.field(self.stream).type) if self.stream in schema.names else None
        if kind is not None and _named(kind):
            try:
                pa.array(self.streams).cast(kind)
            except pa.ArrowInvalid:
                problems.append(Problem("streams", f"must be values of the column {self.stream!r}, which is {kind}"))
        return problems

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        objects, values = batch.column(self.object), batch.column(self.value)
        masks = {
            reason: column.is_null().to_numpy(zero_copy_only=False)
            for reason, column in (("null object", objects), ("null value", values))
            if column.null_count
        }
        left_out = np.zeros(len(batch), bool)
        for mask in masks.values():
            left_out |= mask
        numbers = as_float64(self.value, values).fill_null(0.0).to_numpy(zero_copy_only=False)
        within(self.value, np.where(left_out, 0.0, numbers), 0.0, self.upper)
        ids, names = identify(objects)
        columns = {
            "object": pa.array(ids),
            "key": pa.array(hash_column(objects)),
            "stream": pa.array(self._numbered(batch.column(self.stream), left_out)),
            "value": pa.array(numbers),
        }
        return (columns if names is None else {**columns, "name": names}), masks

    def _numbered(self, names: pa.Array, left_out: Array) -> Array:
        """int32[n]: each row's stream by its place in `streams`."""
        names = frames.decoded(names)
        found = pc.index_in(names, value_set=pa.array(self.streams).cast(names.type))
        unknown = found.is_null().to_numpy(zero_copy_only=False) & ~left_out
        if unknown.any():
            row = int(unknown.argmax())
            name = names[row].as_py()
            raise InputError(self.stream, f"{name!r} is not in streams; {suggest(name, map(str, self.streams))}", row)
        return found.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int32)

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        kind = spelled_as(schema.field(self.object).type)
        rest = [pa.field("rank", pa.int64()), pa.field("object", kind), pa.field("score", pa.float64())]
        return [at_field(self, schema), *rest]

    def given(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        # In time, windows are half open and ranks are asked for one microsecond before the moment of an answer.
        return {
            "k": self.k,
            "window": self.window.length if self.rows else max(1, self.window.length - 1),
            "streams": len(self.streams),
            "aggregate": self.aggregate,
            "upper": self.upper,
            "repeats": self.repeats,
            "by": "rows" if self.rows else "time",
        }

    def lane(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> Lane:
        return _RankingLane(self, bindings["object-ranker"], answers)

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no object, so the best of all are among the best of each."""
        ids, _ = identify(answers.column("object").combine_chunks())
        keyed = answers.append_column("id", pa.array(ids))
        ranked = tops.merged(keyed, [*self.by, "at"], [("score", "descending"), ("id", "ascending")])
        return tops.cut(ranked, self.k, answers.column_names)


class _RankingLane(FedLane):
    no_rows: ClassVar[Rows] = Rows(
        np.empty(0, np.int64),
        {"stream": np.empty(0, np.int32), "object": np.empty(0, np.int64), "value": np.empty(0)},
    )

    def __init__(self, query: TopK, ranker: Binding, answers: pa.Schema) -> None:
        self._binding = ranker
        self._given = query.given("object-ranker")
        self._schema = answers
        self._repeated = 0
        super().__init__(query.every.length, query.window.length, query.rows)

    def begin(self) -> None:
        self._ranker = cast(ObjectRanker, self._binding.create(**self._given))
        self._names = Names(self._schema.field("object").type)
        self._counted = 0

    def feed(self, times: Int64, rows: Rows, asked: Int64) -> pa.RecordBatch | None:
        marks = asked - (self._ranker.by == "time")
        found = self._ranker.answers(times, rows["stream"], rows["object"], rows["value"], marks)
        self._repeated += self._ranker.repeated - self._counted
        self._counted = self._ranker.repeated
        if len(times):
            self._names.update(times, rows)
        return self._answers(asked, *found) if len(asked) else None

    def _answers(self, asked: Int64, offsets: Int64, objects: Int64, scores: Array) -> pa.RecordBatch:
        """Answers as rows, while the names they need are known."""
        sizes = np.diff(offsets)
        columns = [
            moments(np.repeat(asked, sizes), self._schema.field("at").type),
            pa.array(np.arange(1, len(objects) + 1) - np.repeat(offsets[:-1], sizes), pa.int64()),
            self._names.of(objects),
            pa.array(scores),
        ]
        self._names.forget(int(asked[-1]) - self._horizon)
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def take_left_out(self) -> Mapping[str, int]:
        taken, self._repeated = self._repeated, 0
        return {"repeated report": taken}

    @property
    def retained(self) -> int:
        return len(self._ranker)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        names = states.framed("names", self._names.frame())
        return {"clock": self.clock()}, states.under("ranker", self._ranker.frozen()) | names

    def load(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.set_clock(header["clock"])
        self._ranker.thaw(states.of("ranker", arrays))
        self._counted = self._ranker.repeated
        self._names.load(states.unframed("names", arrays, self._names.frame()))
