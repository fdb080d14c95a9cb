"""What row-features keeps of a key, in bytes, judging by some rows."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from skyband.columns import column_ops
from skyband.columns.keyed_frames import GROUP, TIME, by_column, decoded
from skyband.config.durations import length_text
from skyband.operator.row_encoding import encode

from skyband_totals.row_features.layout import ASKS, layout_of
from skyband_totals.row_features.state_encoder import StateEncoder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skyband_totals.row_features.query import RowFeatures

_NUMBER = 8
"""Bytes of a time, of a hash, and of the number of a key's rows."""


def kept_bytes(query: "RowFeatures", rows: pa.Table) -> list[str]:
    """Sentences: the bytes of a key, of each of its rows, and of each state that it emits.

    It assumes keys of equal size and rows at a constant rate. Raises InputError for a row that cannot be used.
    """
    frame = encode(query, rows.combine_chunks().to_batches()[0]).frame
    if query.asks is not None:
        frame = frame.filter(pa.array(frame.column(ASKS).to_numpy() == 0))
    if not len(frame):
        return []
    encoder = None if query.emit is None else StateEncoder(query, rows.schema)
    layout = layout_of(query.all_features, query.unit, rows.schema) if encoder is None else encoder.layout
    columns = {name: _stored(frame.column(name), kind) for name, kind in layout.columns.items()}
    times, groups = frame.column(TIME).to_numpy(), frame.column(GROUP).to_numpy()
    of_row = _NUMBER + _nbytes(columns) / len(frame)
    _, first, counts = np.unique(groups, return_index=True, return_counts=True)
    span = int(times.max() - times.min())
    each = max(1.0, len(frame) / len(first) * query.span / span) if span else None
    judged = f"judging by its first {len(rows):,} rows"
    sentences = [f"{_of_keys(query, frame, of_row, each, first)}, {judged}"]
    if encoder is not None and each is not None:
        own = np.flatnonzero(groups == groups[first[np.abs(counts - each).argmin()]])
        own = own[np.argsort(times[own], kind="stable")]
        state = _state(encoder, times[own], {name: column_ops.pick(column, own) for name, column in columns.items()})
        sentences.append(f"a state that it emits takes about {len(state):,} bytes with {_rows(len(own))}, {judged}")
    return sentences


def _of_keys(query: "RowFeatures", frame: pa.RecordBatch, of_row: float, each: float | None, first: Any) -> str:
    """first: int64[keys], a row of each key."""
    window = length_text(query.longest, False)
    if not query.by:
        some = "" if each is None else f": {each * of_row:,.0f} with {_rows(each)}"
        return f"its state takes {of_row:,.0f} bytes for each row of {window}{some}"
    names = map(by_column, range(len(query.by)))
    grouping = {name: decoded(frame.column(name).take(pa.array(first))) for name in names}
    numbers = 3 if query.emit is None else 4
    of_key = numbers * _NUMBER + _nbytes(grouping) / len(first)
    sentence = f"a key takes {of_key:,.0f} bytes in its state, and {of_row:,.0f} for each of its rows of {window}"
    if each is None:
        return sentence
    whole = of_key + each * of_row
    return f"{sentence}: {whole:,.0f} with {_rows(each)}, {len(first) * whole:,.0f} for {len(first):,} keys"


def _stored(column: pa.Array, kind: Any) -> Any:
    return column_ops.of_kind(column, kind) if isinstance(kind, pa.DataType) else column.to_numpy().astype(kind)


def _nbytes(columns: "Mapping[str, Any]") -> int:
    """As a state has them."""
    arrays = [column_ops.to_arrays(name, column) for name, column in columns.items()]
    return sum(array.nbytes for of_column in arrays for array in of_column.values())


def _state(encoder: StateEncoder, times: Any, columns: "Mapping[str, Any]") -> bytes:
    """One with these rows."""
    rows = np.array([len(times)])
    states = encoder.states(np.array([int(times[-1]) + 1]), np.zeros(1, np.int64), rows, times, columns)
    state: bytes = states[0].as_py()
    return state


def _rows(count: float) -> str:
    text = f"{count:,.1f}".removesuffix(".0")
    return f"{text} row{'' if text == '1' else 's'}"
