"""The states that row-features emits: those of many groups, made together."""

from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import pyarrow as pa
from skyband import snapshot
from skyband.arrays import Array, Int64
from skyband.errors import EngineError
from skyband.queries import emitted_states
from skyband.states.coverage import Coverage
from skyband.states.state import encode_state

from skyband_totals.row_features.layout import layout_of
from skyband_totals.row_features.state_parameters import KIND, ROLE, parameters_of, state_schema
from skyband_totals.row_features.written_rows import Part, parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skyband_totals.row_features.query import RowFeatures

_CHECKSUM = slice(12, 16)
"""Where a snapshot has the CRC-32 of what follows: see `skyband.snapshot`."""
_ALIGNED = 8
_MOST_BYTES = 2**31 - 1
"""Of one array of Arrow's binary values."""


class StateEncoder:
    """Makes states of a query over a source."""

    def __init__(self, query: "RowFeatures", schema: pa.Schema) -> None:
        kinds = state_schema(query, schema)
        self.layout = layout_of(query.all_features, query.unit, kinds)
        self.kinds = self.layout.columns
        """The names and types of what is kept of a row."""
        self.changed = query.emit == emitted_states.CHANGED
        self._parameters, self._longest = parameters_of(query, kinds), query.longest

    def states(
        self, at: Int64, first: Int64, stop: Int64, times: Int64, columns: "Mapping[str, Any]"
    ) -> pa.BinaryArray:  # fmt: skip
        """The state at each of the moments at[i], with the rows first[i]..stop[i], which are in order of time.

        Those of as many rows, with numbers of as many bytes, are made together: O(bytes), and for text O(1) calls a
        state. Raises EngineError if they are beyond 2 GiB.
        """
        pieces, places, sizes = list[Array](), [np.empty(0, np.int64)], stop - first
        moments, of = np.unique(at, return_inverse=True)
        lengths = np.array([len(self._header(moment)) for moment in moments.tolist()])[of]
        for size in np.unique(sizes).tolist():
            own = np.flatnonzero(sizes == size)
            parts = list(parts_of(first[own], size, times, columns, self.kinds))
            for alike in _alike([lengths[own], *(part.shape for part in parts)]):
                pieces.append(self._alike(at[own[alike]], parts, alike))
                places.append(own[alike])
        nbytes = sum(piece.nbytes for piece in pieces)
        if nbytes > _MOST_BYTES:
            message = f"{len(at):,} states of one step take {nbytes:,} bytes, but at most {_MOST_BYTES:,} fit"
            raise EngineError(f'{message}: use more shards, or emit = "changed-state" more often')
        together = pa.concat_arrays([pa.array([], pa.binary()), *map(_as_binary, pieces)])
        return together.take(pa.array(np.argsort(np.concatenate(places))))

    def _alike(self, at: Int64, parts: list[Part], alike: Int64) -> Array:
        """uint8[s, n]: states whose arrays have the same lengths."""
        arrays: dict[str, Array] = {"since": (at - self._longest)[:, None]}
        for part in parts:
            arrays |= part.cut(alike)
        arrays = {name: np.ascontiguousarray(rows) for name, rows in sorted(arrays.items())}
        one = self._encoded(int(at[0]), {name: rows[0] for name, rows in arrays.items()})
        header, begin = self._header(int(at[0])), len(one) - sum(map(_padded, arrays.values()))
        states = np.zeros((len(at), len(one)), np.uint8)
        for moment in np.unique(at).tolist():
            text = one[:begin].replace(header, self._header(moment), 1)
            states[at == moment, :begin] = np.frombuffer(text, np.uint8)
        for rows in arrays.values():
            states[:, begin : begin + rows[0].nbytes] = rows.view(np.uint8).reshape(len(rows), -1)
            begin += _padded(rows)
        checksums = np.array([crc32(state[_CHECKSUM.stop :].data) for state in states], "<u4")
        states[:, _CHECKSUM] = checksums.view(np.uint8).reshape(-1, 4)
        return states

    def _encoded(self, at: int, arrays: "Mapping[str, Array]") -> bytes:
        return encode_state(ROLE, KIND, self._parameters, arrays, self._covers(at))

    def _covers(self, at: int) -> Coverage:
        return Coverage(at, at - self._longest, False, self.changed)

    def _header(self, at: int) -> bytes:
        """What of a state's text depends on the moment."""
        return snapshot.text(self._covers(at).to_header()).encode()


def _alike(shapes: list[Int64]) -> list[Int64]:
    """The places of those that are equal in each of these."""
    _, number = np.unique(np.stack(shapes), axis=1, return_inverse=True)
    order = np.argsort(number, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(number[order])) + 1)


def _padded(rows: Array) -> int:
    """The bytes that one of these arrays takes in a snapshot."""
    nbytes: int = rows[0].nbytes
    return -(-nbytes // _ALIGNED) * _ALIGNED


def _as_binary(states: Array) -> pa.BinaryArray:
    kind = pa.binary(states.shape[1])
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(states), [None, pa.py_buffer(states)]).cast(pa.binary())
