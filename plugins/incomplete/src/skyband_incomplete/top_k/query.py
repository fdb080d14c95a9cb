"""top-k: the best objects of each window, whose values arrive in separate streams."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define
from skyband.arrays import Array
from skyband.columns import keyed_frames
from skyband.columns.keyed_frames import plain_type
from skyband.columns.numbers import as_float64, is_number
from skyband.columns.rows_behind_answers import Which
from skyband.columns.state_frame_checks import check_finite, check_named, check_numbers, check_whole, refused_as_damage
from skyband.config.calendar_lengths import SO_FAR, Length, length
from skyband.config.durations import Duration
from skyband.config.literals import literal
from skyband.config.parameters import checked, integer, number
from skyband.errors import ConfigError, InputError, Problem, suggest
from skyband.queries import composite_ids
from skyband.queries.carried_columns import (
    TIE,
    carry_columns,
    carry_fields,
    carry_inputs,
    name_problems,
)
from skyband.queries.composite_ids import Columns
from skyband.queries.query import Input, Query
from skyband.queries.shared_keys import SMALLEST, as_names, check_names, column_name, column_names, order_parameter
from skyband.queries.time_columns import at_field
from skyband.roles.object_ranker import REDUCTIONS, aggregate_parameter, repeats_parameter
from skyband.windows.half_lives import half_life_parameter, half_life_problems
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

_MOST = float(np.finfo(np.float64).max)
_MIRRORED: Mapping[Any, str] = {"min": "max", "max": "min", "largest": "smallest", "smallest": "largest"}
"""The value of a key for negated values."""


def _named(kind: pa.DataType) -> bool:
    kind = plain_type(kind)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)


@define(eq=True)
class TopK(Query):
    """Ranks objects by values that several streams report at different times.

    Result columns: at, rank (from 1), object, score. Equal scores rank by object: the smaller integer first, other
    types (decimals too) by the smaller hash, so that all engines agree: the low 64 bits, as a signed number, of
    MurmurHash3_x64_128 of the value (for text, its bytes in UTF-8). Rows whose object, stream or value is null are
    dropped and counted.

    If an object reports a stream again, the latest value in the window counts, or by `repeats` the largest, the
    smallest or the mean. Of reports at one time the largest is the latest. `repeats` may instead promise that an object
    does not report again, or at most m times, with the sum counting: then less is kept. Rows that break such a promise
    are dropped, counted, and reported by a warning.

    `order = "smallest"` ranks the smallest score first, with the same order of ties. A stream without a value of an
    object counts as 0, in any order and for any signs: if only existing values should count, put all rows in one
    stream.

    With `half_life = "1 hour"` a value loses half its worth with each hour since its arrival: it is worth
    value · 2^(-age / half-life), up to the rounding of float64, and scores aggregate what values are worth. A value
    below 0 rises towards 0 as it ages. The largest or smallest report of an object is the one worth most or least. No
    ranker is used: the query keeps the latest report per object and stream if only that counts, else all of the window,
    and weights them again for each answer.

    `object` may be several columns, which identify an object together: the answers then have these instead of `object`,
    and equal scores rank by the hash of all of them. A row with a null in one of them has no object.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> reports = {"cell": ["x", "y", "x", "y"], "from": ["air", "air", "soil", "soil"], "value": [0.9, 0.5, 0.1, 0.75]}
    >>> rows = pa.table({"ts": pa.array([0, 10, 20, 30], pa.timestamp("s")), **reports})
    >>> keys = {"object": "cell", "stream": "from", "value": "value", "streams": ["air", "soil"], "aggregate": "sum"}
    >>> query = TopK("ts", **keys, k=1, window="1 minute", every="1 minute")
    >>> local.apply(rows, query).select(["rank", "object", "score"]).to_pylist()
    [{'rank': 1, 'object': 'y', 'score': 1.25}]
    """

    kind: ClassVar[str] = "top-k"
    roles: ClassVar[tuple[str, ...]] = ("object-ranker",)
    answered_by: ClassVar[str] = "skyband_incomplete.top_k.execution:TopKExecution"
    shard_by: ClassVar[str | None] = "key"
    drop_reasons: ClassVar[tuple[str, ...]] = ("null object", "null stream", "null value", "repeated report")

    object: Columns = composite_ids.identity(
        help="the column that identifies a row's object, or several that identify it together"
    )
    stream: str = column_name(help="the column with the stream of a row")
    value: str = column_name(
        help="the column of values, up to `upper` if it is set; from 0 on if `repeats` is a promise or `aggregate` a "
        "function"
    )
    streams: tuple[str | int, ...] = checked(
        type="list",
        check=check_names,
        bounds="distinct values of the column `stream`",
        help="all streams, in the order of the weights",
        converter=as_names,
    )
    k: int = integer(at_least=1, help="objects in an answer")
    window: Length = length(help=f"length of the window, {SO_FAR}")
    every: Length = every_parameter()
    aggregate: Any = aggregate_parameter()
    upper: float | None = number(
        None,
        above=0,
        help="no value is above this; none: 1 if `repeats` is a promise or `aggregate` a function, otherwise values "
        "have no limit",
    )
    repeats: str | int = repeats_parameter()
    offset: Duration = offset_parameter()
    order: str = order_parameter("scores")
    carry: tuple[str, ...] = column_names(
        help="further columns of an object's row to include: of its latest row, or if `repeats` is largest or "
        "smallest, of the row with that value"
    )
    half_life: Duration | None = half_life_parameter("values are worth")

    def __attrs_post_init__(self) -> None:
        problems = problems_of(self.every, self.offset, {"window": self.window})
        problems += not_anew(self.every, self.window, self.kind) if not problems else []
        problems += too_short(self.window)
        if isinstance(self.aggregate, tuple) and len(self.aggregate) != len(self.streams):
            message = f"must hold a weight for each of the {len(self.streams)} streams (got {len(self.aggregate)})"
            problems.append(Problem("aggregate", message))
        reserved = ("at", "rank", "score", *self.by)
        problems += name_problems("object", composite_ids.several(self.object), reserved)
        problems += name_problems(
            "carry", self.carry, (*reserved, *composite_ids.identity_names("object", self.object))
        )
        if self.order == SMALLEST:
            problems += self._largest_only()
        problems += self._decay_problems()
        if problems:
            raise ConfigError(*problems)

    def _largest_only(self) -> list[Problem]:
        """Problems of this query with order = "smallest"."""
        message = 'ranks the largest first only: drop order = "smallest", or'
        problems = []
        if callable(self.aggregate):
            problems.append(Problem("aggregate", f"a function {message} name an aggregate"))
        if self.repeats not in REDUCTIONS:
            names = ", ".join(REDUCTIONS)
            problems.append(
                Problem("repeats", f"a promise {message} choose one of {names} (got {literal(self.repeats)})")
            )
        return problems

    def _decay_problems(self) -> list[Problem]:
        """Problems of this query with `half_life`."""
        if self.half_life is None:
            return []
        problems = half_life_problems(self.half_life, self.rows, self.every, self.window)
        if callable(self.aggregate):
            message = "is a function, which `half_life` would call for all objects at each moment: name an aggregate"
            problems.append(Problem("aggregate", f"{message}, or remove one of the two"))
        if self.repeats not in REDUCTIONS:
            message = f"is a promise, which `half_life` does not support: choose one of {', '.join(REDUCTIONS)}"
            problems.append(Problem("repeats", f"{message} (got {literal(self.repeats)})"))
        if self.carry and self.repeats in ("largest", "smallest"):
            message = "is of the latest row with `half_life`: remove it, or set repeats to latest or mean"
            problems.append(Problem("carry", f"{message} (repeats is {literal(self.repeats)})"))
        return problems

    @property
    def asked_roles(self) -> tuple[str, ...]:
        """None with `half_life`: no ranker supports decaying values."""
        return self.roles if self.half_life is None else ()

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
    def compared_columns(self) -> tuple[str, ...]:
        return composite_ids.identity_names("object", self.object)

    @property
    def promises(self) -> Mapping[str, str]:
        if self.repeats in REDUCTIONS:
            return {}
        return {
            "repeated report": f"rows break the promise repeats = {json.dumps(self.repeats)} and count in no answer: "
            'choose which report of an object counts (repeats = "latest", "largest", "smallest" or "mean"), or the '
            "most that a window can have, all of which are summed (repeats = 100)"
        }

    @property
    def ties(self) -> tuple[str, ...]:
        return ("object", "stream", "value", *([TIE] if self.carry else []))

    def inputs(self) -> tuple[Input, ...]:
        return (
            *composite_ids.identity_inputs("object", self.object),
            Input("stream", self.stream, "a string or a whole number", _named),
            Input("value", self.value, "a number", is_number),
            *carry_inputs(self.carry),
        )

    def check(self, schema: pa.Schema) -> list[Problem]:
        problems = super().check(schema)
        kind = plain_type(schema.field(self.stream).type) if self.stream in schema.names else None
        if kind is not None and _named(kind):
            try:
                pa.array(self.streams).cast(kind)
            except pa.ArrowInvalid:
                problems.append(Problem("streams", f"must be values of the column {self.stream!r}, which is {kind}"))
        return problems

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        objects = [batch.column(name) for name in composite_ids.columns_of(self.object)]
        streams, values = batch.column(self.stream), batch.column(self.value)
        masks = {
            reason: column.is_null().to_numpy(zero_copy_only=False)
            for reason, column in (("null stream", streams), ("null value", values))
            if column.null_count
        }
        if any(column.null_count for column in objects):
            masks = {"null object": composite_ids.missing(objects), **masks}
        excluded = np.zeros(len(batch), bool)
        for mask in masks.values():
            excluded |= mask
        numbers = as_float64(self.value, values).fill_null(0.0).to_numpy(zero_copy_only=False)
        self._check_values(np.where(excluded, 0.0, numbers))
        ids, keys, names = composite_ids.to_keys(objects)
        columns = {
            "object": pa.array(ids),
            "key": pa.array(keys),
            "stream": pa.array(self._numbered(streams, excluded)),
            "value": pa.array(numbers),
            **carry_columns((*composite_ids.several(self.object), *self.carry), batch),
        }
        return (columns if names is None else {**columns, "name": names}), masks

    def check_frame(self, frame: pa.RecordBatch) -> None:
        check_whole(frame, "object", "key")
        check_named(frame)
        check_numbers(frame, "stream", at_least=0, at_most=len(self.streams) - 1)
        with refused_as_damage():
            self._check_values(check_finite(frame, "value"))

    @property
    def greatest(self) -> float:
        """The greatest possible value. What objects may still gain matters only if `repeats` is a promise."""
        if self.upper is not None:
            return self.upper
        return 1.0 if self._bounded else _MOST

    @property
    def least(self) -> float:
        """The least possible value."""
        return 0.0 if self._bounded else -_MOST

    @property
    def _bounded(self) -> bool:
        """Whether its ranker relies on bounds of the values: a promise does, and a function is tried between them."""
        return self.repeats not in REDUCTIONS or callable(self.aggregate)

    def _check_values(self, numbers: Array) -> None:
        bad = ~((numbers >= self.least) & (numbers <= self.greatest))
        if not bad.any():
            return
        row = int(bad.argmax())
        value = numbers[row].item()
        if value > self.greatest and np.isfinite(value):
            span = f"at most {self.greatest:g}" if self.least else f"a number from 0 to {self.greatest:g}"
            alike, reason = np.isfinite(numbers) & (numbers > self.greatest), f"must be {span}, query.upper"
            remedy = "set query.upper to the greatest possible value"
        elif not np.isfinite(value):
            alike, reason, remedy = ~np.isfinite(numbers), "must be a finite number", "leave such rows out"
        else:
            cause = "aggregate is a function" if self.repeats in REDUCTIONS else f"repeats = {self.repeats!r}"
            alike, reason = np.isfinite(numbers) & (numbers < self.least), f"must be at least 0 if {cause}"
            remedy = "choose repeats and aggregate by name, or leave such rows out"
        message = f"{reason} (got {literal(value)}): {remedy}"
        raise InputError(self.value, message, row, rows=np.flatnonzero(bad & alike), reason=reason)

    def _numbered(self, names: pa.Array, excluded: Array) -> Array:
        """int32[n]: the place of each row's stream in `streams`."""
        names = keyed_frames.decoded(names)
        numbers = pc.index_in(names, value_set=pa.array(self.streams).cast(names.type))
        unknown = numbers.is_null().to_numpy(zero_copy_only=False) & ~excluded
        if unknown.any():
            row = int(unknown.argmax())
            name = names[row].as_py()
            message = f"{name!r} is not in streams; {suggest(name, map(str, self.streams))}"
            raise InputError(self.stream, message, row, rows=np.flatnonzero(unknown), reason="is not in streams")
        return numbers.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int32)

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        ranked = [pa.field("rank", pa.int64()), *composite_ids.identity_fields("object", self.object, schema)]
        return [at_field(self, schema), *ranked, pa.field("score", pa.float64()), *carry_fields(self.carry, schema)]

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        """Rankers rank the largest first: for the smallest first they get negated values."""
        smallest = self.order == SMALLEST
        return {
            "k": self.k,
            "window": closed_length(self.window),
            "streams": len(self.streams),
            "aggregate": _MIRRORED.get(self.aggregate, self.aggregate) if smallest else self.aggregate,
            "upper": _MOST if smallest else self.greatest,
            "lower": self.least,
            "repeats": _MIRRORED.get(self.repeats, self.repeats) if smallest else self.repeats,
            "by": "rows" if self.rows else "time",
        }

    @property
    def row_of_object(self) -> Which:
        """The row whose columns an object carries."""
        if self.half_life is not None:
            return "latest"
        return "largest" if self.repeats == "largest" else "smallest" if self.repeats == "smallest" else "latest"
