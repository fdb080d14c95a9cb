"""The columns of the answers of heavy-hitters."""

from typing import Any

import pyarrow as pa
from skyband.columns.keyed_frames import plain_type
from skyband.queries import emitted_states
from skyband.queries.carried_columns import carry_fields
from skyband.queries.composite_ids import columns_of, identity_fields
from skyband.queries.time_columns import at_field

from skyband_totals.heavy_hitters.state_columns import GRANDS, OBJECTS, state_field

PARTS = ("part", "low", "high", "matching")
"""The columns of answers that are ranked by the part that meets a condition, before total and share."""
COMPARED = ("previous", "difference", "ratio", "low", "high")
"""The columns of answers that are compared with an earlier window, after the total and before the status."""
DISTANCE = ("value", "low", "high", "total", "previous")
"""The columns of distances, after the name."""


def answer_fields(query: Any, schema: pa.Schema) -> list[pa.Field]:
    """The columns of answers, after `by`."""
    if query.emit is not None:
        return [at_field(query, schema), state_field(plain_type(schema.field(columns_of(query.object)[0]).type))]
    if query.distance:
        named = [pa.field(name, pa.string()) for name in ("window", "distance")]
        return [at_field(query, schema), *named, *(pa.field(name, pa.float64()) for name in DISTANCE)]
    numbers = [pa.field(name, pa.float64()) for name in _number_columns(query)]
    numbers += [] if query.against is None else [pa.field("status", pa.string())]
    labels = [*query.rule_columns, "window"]
    ranked = [*(pa.field(name, pa.string()) for name in labels), pa.field("rank", pa.int64())]
    ranked += [*identity_fields("object", query.object, schema), *numbers]
    counts = [pa.field(OBJECTS, pa.int64())] if query.rest else []
    return [at_field(query, schema), *ranked, *counts, *carry_fields(query.carry, schema)]


def _number_columns(query: Any) -> tuple[str, ...]:
    """The columns of numbers after the object."""
    if query.against is not None:
        return ("total", *COMPARED)
    if query.half_life is not None:
        return ("total", "low", "high")
    return ("total", "share", "low", "high") if query.part is None else (*PARTS, "total", "share")


def shard_fields(query: Any, schema: pa.Schema) -> list[pa.Field]:
    """The columns of a shard's answers, with its grand total, if needed, in a row of rank 0 without an object."""
    without = query.gives_states or query.against is not None or query.half_life is not None
    grands = [] if without else [pa.field(name, pa.float64()) for name in GRANDS]
    return emitted_states.shard_fields([*answer_fields(query, schema), *grands], query.emit)
