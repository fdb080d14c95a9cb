"""uncertain-join: which tuples of one or two uncertain streams are near each other, and with which probability."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pyarrow as pa
from attrs import define
from skyband.columns.sides import WHAT as A_SIDE
from skyband.columns.sides import is_side, sides_of
from skyband.config.durations import Duration
from skyband.config.parameters import checked, number
from skyband.errors import ConfigError, Problem
from skyband.groups.per_row_processor import time_field
from skyband.queries.carried_columns import TIE, carry_inputs
from skyband.queries.composite_ids import Columns, columns_of, identity, identity_inputs
from skyband.queries.pair_columns import (
    carried_fields,
    check_pair_columns,
    encode_pair_columns,
    id_fields,
    name_problems,
    pair_names,
)
from skyband.queries.query import Input, Query
from skyband.queries.shared_keys import column_name, column_names, is_name

from skyband_uncertain.joint_samples import EUCLIDEAN, GREAT_CIRCLE, coordinates_parameter, distance_parameter
from skyband_uncertain.sphere import chord, in_space
from skyband_uncertain.tuple_windows import delta_parameter, problems_of, size_parameter, unlike_time, window_parameter
from skyband_uncertain.uncertain_tuples import WHAT, check_samples, encode_samples, is_samples

_POSITION = 2
"""Columns of a position."""


@define(eq=True)
class UncertainJoin(Query):
    """Matches each tuple with those in the other side's window that are within epsilon with probability beta or more.

    A window holds the last `size` existing tuples (with probability alpha), or, with `window`, those of the last
    length of time at each arrival (half-open, as in every query), or, with `delta`, similar ones: the oldest is
    dropped once the probability that some later one exists further than delta from it, given that it exists itself,
    reaches alpha (section 8.1; exact by definition, without a backend of the role `window`).

    Result columns, a row for each match: time, that of the later tuple; left and right, the two ids; probability, that
    both exist within epsilon of each other and the earlier is in the window of its side, such as among its last `size`
    existing tuples (eq. 26 of Dallachiesa et al.). It is computed in float64 and compared with beta: a match of exactly
    beta is included. Rows with a null are dropped and reported.

    `values = ["x", "y"]` joins points in a plane, three columns points in space. Each column is a list as long as
    `probabilities`: the values at one place are one point, with the probability at that place. Points match if their
    `distance` is at most epsilon, in float64: sqrt(x² + y² + z²) of the differences, or the largest of these. `delta`
    is such a distance too. The matcher finds tuples by the first column and then compares all columns, so put the most
    selective column first.

    `distance = "great-circle"` joins positions on the Earth: `values = ["latitude", "longitude"]` in degrees, epsilon
    and `delta` in metres along the surface of a sphere of radius 6,371,008.8 m; the poles and the date line need no
    special care.

    Without `side` a stream is joined with itself: each tuple with the window of those before it, so each pair occurs
    once, with the earlier on the left. Rows with equal times are ordered by side, then by id (integers ascending,
    others by hash), then by a hash of their samples, then by a hash of the columns in `carry`.

    `id` may be several columns: the answers of `id = ["fleet", "taxi"]` have left_fleet, left_taxi, right_fleet and
    right_taxi instead of left and right. `carry = ["street"]` adds left_street and right_street.

    With several shards, all have all rows, because a window depends on all tuples in it; each finds the matches of its
    part of the tuples with earlier ones.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> samples = {"heights": [[1.0, 2.0], [9.0, 8.0], [1.5, 2.5]], "chances": [[0.5, 0.5]] * 3}
    >>> rows = pa.table({"ts": pa.array([0, 10, 20], pa.timestamp("s")), "id": [1, 2, 3], **samples})
    >>> keys = {"values": "heights", "probabilities": "chances", "size": 2, "alpha": 0.9, "beta": 0.5}
    >>> query = UncertainJoin("ts", id="id", **keys, epsilon=0.6)
    >>> local.apply(rows, query).select(["left", "right", "probability"]).to_pylist()
    [{'left': 1, 'right': 3, 'probability': 0.75}]
    """

    kind: ClassVar[str] = "uncertain-join"
    roles: ClassVar[tuple[str, ...]] = ("window", "matcher")
    answered_by: ClassVar[str] = "skyband_uncertain.uncertain_join.execution:UncertainJoinExecution"
    drop_reasons: ClassVar[tuple[str, ...]] = ("null sample", "null id or side")

    id: Columns = identity(help="the column that identifies a tuple in answers, or several that identify it together")
    values: Columns = coordinates_parameter(
        help="the column of values, numbers or lists with one per sample; or two or three columns of coordinates"
    )
    probabilities: str = column_name(help="the column of their probabilities, which sum to at most 1 per row")
    epsilon: float = number(at_least=0, help="two samples match if they are at most this far apart")
    size: int | None = size_parameter()
    alpha: float = number(
        0.95, above=0, at_most=1, help="probability with which it must hold `size`, or at which `delta` drops a tuple"
    )
    beta: float = number(0.5, at_least=0, below=1, help="matches below this probability are dropped")
    side: str | None = checked(
        None,
        type="column",
        check=lambda given: None if given is None else is_name(given),
        help='join two streams: the column with "left" or "right", 0 or 1, false or true; none: one with itself',
    )
    carry: tuple[str, ...] = column_names(help="further columns of both rows to include with a match")
    window: Duration | None = window_parameter()
    delta: float | None = delta_parameter()
    distance: str = distance_parameter(
        GREAT_CIRCLE, help='; "great-circle": metres, for `values` of latitude and longitude in degrees'
    )

    def __attrs_post_init__(self) -> None:
        problems = name_problems(self.id, self.carry, ("time", "probability", *self.by))
        problems += problems_of(self.size, self.window, self.delta)
        if self.on_sphere and len(columns_of(self.values)) != _POSITION:
            message = 'must be two columns, as in ["latitude", "longitude"], with distance = "great-circle"'
            problems.append(Problem("values", f"{message} (got {', '.join(columns_of(self.values))})"))
        if problems:
            raise ConfigError(*problems)

    @property
    def rows(self) -> bool:
        return True

    @property
    def on_sphere(self) -> bool:
        """Whether its points are positions on the Earth, compared as points in space."""
        return self.distance == GREAT_CIRCLE

    @property
    def coordinates(self) -> int:
        """The number of coordinates that are compared."""
        return 3 if self.on_sphere else len(columns_of(self.values))

    @property
    def nearness(self) -> tuple[float, str]:
        """The largest distance of matching samples, and its kind."""
        return (chord(self.epsilon), EUCLIDEAN) if self.on_sphere else (self.epsilon, self.distance)

    @property
    def change(self) -> tuple[float, str]:
        """`delta` as a distance, and its kind."""
        delta = self.delta or 0.0
        return (chord(delta), EUCLIDEAN) if self.on_sphere else (delta, self.distance)

    @property
    def asked_roles(self) -> tuple[str, ...]:
        return ("matcher",) if self.size is None else self.roles

    @property
    def ties(self) -> tuple[str, ...]:
        sides = () if self.side is None else ("side",)
        return (*sides, "code", "tie", TIE) if self.carry else (*sides, "code", "tie")

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return pair_names(self.id)

    def check(self, schema: pa.Schema) -> list[Problem]:
        return [*super().check(schema), *unlike_time(self.window, self, schema)]

    def inputs(self) -> tuple[Input, ...]:
        return (
            *(() if self.side is None else (Input("side", self.side, A_SIDE, is_side),)),
            *identity_inputs("id", self.id),
            *(Input("values", name, WHAT, is_samples) for name in columns_of(self.values)),
            Input("probabilities", self.probabilities, WHAT, is_samples),
            *carry_inputs(self.carry),
        )

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        first, *further = columns_of(self.values)
        others = {name: batch.column(name) for name in further}
        columns, null = encode_samples(batch.column(first), batch.column(self.probabilities), others)
        if self.on_sphere:
            columns = in_space(columns, (first, *further), null)
        named, unnamed = encode_pair_columns(self.id, self.carry, batch)
        columns |= named
        if self.side is not None:
            sides = batch.column(self.side)
            columns["side"] = pa.array(sides_of(sides))
            unnamed |= sides.is_null().to_numpy(zero_copy_only=False)
        return columns, {"null sample": null, "null id or side": unnamed}

    def check_frame(self, frame: pa.RecordBatch) -> None:
        check_pair_columns(frame)
        check_samples(frame, self.coordinates)

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        matched = [time_field(self, schema), *id_fields(self.id, schema), pa.field("probability", pa.float64())]
        return [*matched, *carried_fields(self.carry, schema)]

    def backend_parameters(self, role: str) -> dict[str, Any]:
        if role == "window":
            return {"size": self.size, "alpha": self.alpha, "beta": self.beta}
        return {"epsilon": self.nearness[0], "beta": self.beta}

    @property
    def one_shard(self) -> str | None:
        return None
