"""Answers that are states: a column of snapshots, each with the window that it covers."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import Array
from skyband.queries.time_columns import moments
from skyband.roles import Backend

if TYPE_CHECKING:
    from skyband.states.coverage import Coverage

STATE, CHANGED = "state", "changed-state"
KINDS = (STATE, CHANGED)
FIELD = pa.field("state", pa.binary())
NEWS = pa.field("news", pa.bool_())
"""A column of a shard's states: whether rows arrived since the moment before, for a table of changed states."""
NOTHING: Mapping[str, Array] = MappingProxyType({})


def state_of(backend: Backend, covers: "Coverage", extra: Mapping[str, Array] = NOTHING) -> bytes:
    """The state of a backend now; `extra`: arrays of its state besides the backend's own."""
    from skyband.states.state import encode_state  # on use: most queries emit none

    return encode_state(backend.role, backend.name, backend.parameters(), {**backend.dump_state(), **extra}, covers)


def shard_fields(fields: Sequence[pa.Field], emit: str | None) -> list[pa.Field]:
    """The columns of a shard's answers: a state at each moment, because another shard may have got rows."""
    return [*fields, NEWS] if emit == CHANGED else [*fields]


def gives_all(emit: str | None, answers: pa.Schema) -> bool:
    """Whether a state is emitted at each moment, or only at moments with new rows."""
    return emit != CHANGED or NEWS.name in answers.names


def batch_of(answers: pa.Schema, states: Sequence[tuple[int, bytes, bool]]) -> pa.RecordBatch | None:
    """Answers of moments, states, and whether rows arrived since the moment before; None if there are none."""
    if not states:
        return None
    at, blobs, news = zip(*states, strict=True)
    columns = [moments(np.array(at), answers.field("at").type), pa.array(blobs, pa.binary())]
    columns += [pa.array(news, pa.bool_())] if NEWS.name in answers.names else []
    return pa.RecordBatch.from_arrays(columns, schema=answers)


def merged(answers: pa.Table) -> pa.Table:
    """Unites the states of shards per moment; with `NEWS`, only for moments with news."""
    if NEWS.name in answers.column_names:
        news = answers.column("at").filter(answers.column(NEWS.name))
        answers = answers.filter(pc.is_in(answers.column("at"), value_set=news.combine_chunks()))
        answers = answers.drop_columns(NEWS.name)
    from skyband.states.uniting import union  # on use: a worker unites none

    ordered = answers.sort_by("at").combine_chunks()
    moments = ordered.column("at").combine_chunks()
    runs = _runs(moments)
    rows = []
    for start, stop in runs:
        states = ordered.column("state").slice(start, stop - start)
        rows.append(states[0].as_py() if stop - start == 1 else union(states))
    starts = pa.array([start for start, _ in runs])
    return pa.table({"at": moments.take(starts), "state": pa.array(rows, pa.binary())}).select(answers.column_names)


def summarised(answers: pa.Table) -> pa.Table:
    """Answers for people to read: the backend and size of each state."""
    texts = [_summary(state.as_py()) for state in answers.column("state")]
    place = answers.column_names.index("state")
    return answers.set_column(place, "state", pa.array(texts, pa.string()))


def _summary(state: bytes) -> str:
    from skyband.states.description import describe

    description = describe(state)
    return f"{description.backend}, {description.retained:,} retained, {description.nbytes:,} bytes"


def _runs(column: pa.Array) -> list[tuple[int, int]]:
    """The runs [start, stop) of equal values of a sorted column."""
    values = column.cast(pa.int64()).to_pylist()
    cuts = [row for row in range(1, len(values)) if values[row] != values[row - 1]]
    return list(zip([0, *cuts], [*cuts, len(values)], strict=True))
