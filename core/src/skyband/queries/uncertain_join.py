"""uncertain-join: which tuples of two uncertain streams are near each other, and how probably."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define

from skyband.arrays import Array, Float64, Int64
from skyband.errors import InputError
from skyband.parameters import integer, number
from skyband.queries.encoding import moments
from skyband.queries.ids import Ids, codes_of, is_id
from skyband.queries.lane import Rows
from skyband.queries.query import Input, Query, column_name
from skyband.queries.samples import Samples, encode_samples, sample_inputs, samples_of
from skyband.queries.uncertain_sum import ArrivalLane, time_field
from skyband.registry import Binding
from skyband.roles import Matcher, Window

SIDES = ("left", "right")


def _is_side(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind)


@define(eq=True)
class UncertainJoin(Query):
    """Matches each tuple with those in the other side's window that are within epsilon with probability beta or more.

    Result columns, a row for each match: time, that of the tuple that came later; left and right, the two ids;
    probability, that both exist within epsilon of each other and the earlier is among the last `size` existing tuples
    of its side (eq. 26 of Dallachiesa et al.). Rows with a null are left out and reported.
    """

    kind: ClassVar[str] = "uncertain-join"
    roles: ClassVar[tuple[str, ...]] = ("window", "matcher")
    leaves_out: ClassVar[tuple[str, ...]] = ("null sample", "null id or side")

    side: str = column_name(
        help='the column that says which side a row is of: "left" or "right", 0 or 1, false or true'
    )
    id: str = column_name(help="the column that names a tuple in the answers")
    values: str = column_name(help="the column of values: a number, or a list with one for each sample")
    probabilities: str = column_name(help="the column of their probabilities, which sum to at most 1 in a row")
    size: int = integer(at_least=1, help="existing tuples a window must hold")
    epsilon: float = number(at_least=0, help="two samples match when they differ by at most this much")
    alpha: float = number(0.95, above=0, at_most=1, help="probability with which a window must hold its tuples")
    beta: float = number(0.5, at_least=0, below=1, help="matches below this probability are not wanted")

    @property
    def rows(self) -> bool:
        return True

    @property
    def order(self) -> tuple[str, ...]:
        return ("side", "code", "tie")

    def inputs(self) -> tuple[Input, ...]:
        return (
            Input("side", self.side, "text, an integer or a boolean", _is_side),
            Input("id", self.id, "text or an integer", is_id),
            *sample_inputs(self.values, self.probabilities),
        )

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        columns, null = encode_samples(batch.column(self.values), batch.column(self.probabilities))
        sides, ids = batch.column(self.side), batch.column(self.id)
        unnamed = pc.or_(sides.is_null(), ids.is_null()).to_numpy(zero_copy_only=False)
        named = {"side": pa.array(_sides(sides)), "code": pa.array(codes_of(ids))}
        if not pa.types.is_integer(ids.type):
            named["id"] = ids
        return {**columns, **named}, {"null sample": null, "null id or side": unnamed}

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        ids = [pa.field(side, schema.field(self.id).type) for side in SIDES]
        return [time_field(self, schema), *ids, pa.field("probability", pa.float64())]

    def given(self, role: str) -> dict[str, Any]:
        if role == "window":
            return {"size": self.size, "alpha": self.alpha, "beta": self.beta}
        return {"epsilon": self.epsilon, "beta": self.beta}

    def lane(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> "_JoinLane":
        return _JoinLane(self, bindings, answers)


def _sides(column: pa.Array) -> Array:
    """int8[n]: 0 for left, 1 for right; null is 0. Raises InputError on anything else."""
    if pa.types.is_string(column.type):
        found = pc.index_in(column, value_set=pa.array(SIDES))
        wrong = pc.and_(found.is_null(), column.is_valid())
    else:
        found = column.cast(pa.int64())
        wrong = pc.and_(pc.or_(pc.less(found, 0), pc.greater(found, 1)), column.is_valid()).fill_null(False)
    if pc.any(wrong).as_py():
        row = pc.index(wrong, True).as_py()
        raise InputError("side", f'must be "left" or "right", 0 or 1, false or true (got {column[row].as_py()!r})', row)
    return found.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int8)


class _Side:
    """One side of a join: its window, its matcher, and what is needed of the tuples in them."""

    def __init__(self, query: UncertainJoin, bindings: Mapping[str, Binding], ids: pa.DataType) -> None:
        self._bindings = bindings
        self.window = cast(Window, bindings["window"].create(**query.given("window")))
        self.matcher = cast(Matcher, bindings["matcher"].create(**query.given("matcher")))
        self.existence: Float64 = np.empty(0)
        self.codes: Int64 = np.empty(0, np.int64)
        self.named = not pa.types.is_integer(ids)
        self.ids = Ids(ids)

    def append(self, samples: Samples, codes: Int64, ids: pa.Array | None) -> tuple[Int64, Int64]:
        """Take in tuples: where the window starts and ends before each of them and after the last.

        What they push out is kept until `evict`, for probes that came before.
        """
        start, end = self.window.start, self.window.end
        existence = samples.existence()
        starts = self.window.append(existence)
        self.matcher.append(samples.offsets, samples.values, samples.probabilities)
        self.existence = np.concatenate([self.existence, existence])
        self.codes = np.concatenate([self.codes, codes])
        self.ids.add(codes, np.arange(end, end + len(codes)), ids)
        return np.concatenate([[start], starts]), np.arange(end, end + len(codes) + 1)

    def matches(self, samples: Samples, starts: Int64, ends: Int64, beta: float) -> tuple[Int64, Int64, Float64]:
        """The probe, the position and the probability of each match by eq. 26."""
        probes, positions, near = self.matcher.match_all(
            samples.offsets, samples.values, samples.probabilities, starts, ends
        )
        base = self.matcher.start
        present = self.window.presence_among(self.existence, positions - base, ends[probes] - base)
        found = present * near
        wanted = (found >= beta) & (found > 0.0)
        return probes[wanted], positions[wanted], found[wanted]

    def evict(self) -> None:
        """Let go of what the window has let go of."""
        gone = self.window.start - self.matcher.start
        self.matcher.evict(self.window.start)
        self.existence, self.codes = self.existence[gone:].copy(), self.codes[gone:].copy()
        self.ids.forget(self.window.start)

    def names(self, positions: Int64) -> pa.Array:
        """The ids of the tuples at these positions."""
        return self.ids.values(self.codes[positions - self.matcher.start])

    def state(self) -> dict[str, Array]:
        snapshots = {role: getattr(self, role).snapshot() for role in ("window", "matcher")}
        blobs = {role: np.frombuffer(blob, np.uint8) for role, blob in snapshots.items()}
        return {**blobs, "existence": self.existence, "codes": self.codes, **self.ids.state()}

    def load(self, arrays: Mapping[str, Array]) -> None:
        self.window = cast(Window, self._bindings["window"].restore(arrays["window"].tobytes()))
        self.matcher = cast(Matcher, self._bindings["matcher"].restore(arrays["matcher"].tobytes()))
        self.existence, self.codes = arrays["existence"].copy(), arrays["codes"].copy()
        self.ids.load(arrays)


class _JoinLane(ArrivalLane):
    def __init__(self, query: UncertainJoin, bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        self._beta = query.beta
        self._schema = answers
        self._sides = [_Side(query, bindings, answers.field(side).type) for side in SIDES]

    def arrive(self, rows: Rows) -> pa.RecordBatch | None:
        sides, samples = rows["side"], samples_of(rows)
        turns = [np.flatnonzero(sides == number) for number in (0, 1)]
        parts = [_part(samples, turn) for turn in turns]
        bounds = [
            side.append(part, rows["code"][turn], rows["id"].take(pa.array(turn)) if side.named else None)
            for side, part, turn in zip(self._sides, parts, turns, strict=True)
        ]
        found = [
            self._probe(number, parts[number], turns[number], np.searchsorted(turns[1 - number], turns[number]), bounds)
            for number in (0, 1)
        ]
        answers = self._answers(rows, *(np.concatenate(column) for column in zip(*found, strict=True)))
        for side in self._sides:
            side.evict()
        return answers

    def _answers(
        self, rows: Rows, arrivals: Int64, left: Int64, right: Int64, chances: Float64
    ) -> pa.RecordBatch | None:
        """By arrival, then by the position of the tuple it matches."""
        if not len(arrivals):
            return None
        order = np.lexsort((np.where(rows["side"][arrivals] == 0, right, left), arrivals))
        times = moments(rows.times[arrivals[order]], self._schema.field("time").type)
        names = [side.names(places[order]) for side, places in zip(self._sides, (left, right), strict=True)]
        columns = [times, *names, pa.array(chances[order])]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _probe(
        self, number: int, part: Samples, turn: Int64, seen: Int64, bounds: list[tuple[Int64, Int64]]
    ) -> tuple[Int64, Int64, Int64, Float64]:
        """The matches of one side's rows in the other side as each of them saw it: row, left, right, probability."""
        starts, ends = bounds[1 - number]
        probes, positions, chances = self._sides[1 - number].matches(part, starts[seen], ends[seen], self._beta)
        own = bounds[number][1][probes]
        return turn[probes], *((own, positions) if number == 0 else (positions, own)), chances

    @property
    def retained(self) -> int:
        return sum(len(side.matcher) for side in self._sides)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        states = zip(SIDES, self._sides, strict=True)
        return {}, {f"{name}.{key}": array for name, side in states for key, array in side.state().items()}

    def load(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:  # noqa: ARG002
        for name, side in zip(SIDES, self._sides, strict=True):
            prefix = f"{name}."
            side.load({key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)})


def _part(samples: Samples, rows: Int64) -> Samples:
    """The tuples of these rows."""
    lengths = np.diff(samples.offsets)[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    picked = np.arange(offsets[-1]) + np.repeat(samples.offsets[rows] - offsets[:-1], lengths)
    return Samples(offsets, samples.values[picked], samples.probabilities[picked])
