"""Respells JSON lines whose values do not have the expected types, but which Spark accepts."""

import numpy as np
import pyarrow as pa
from attrs import define, field

from skyband_jobs.kernels.json_spelling import FLOAT, LIST, OBJECT, OTHER, TEXT, json_spelt


def differs(column: pa.ChunkedArray | pa.Array) -> bool:
    """Whether a column has floats that Arrow may have read from what Spark refuses: Inf, -NaN; or has -0 from 0."""
    if isinstance(column, pa.ChunkedArray):
        return any(map(differs, column.chunks))
    if pa.types.is_list(column.type):
        return differs(column.flatten())
    if pa.types.is_struct(column.type):
        return any(map(differs, column.flatten()))
    if not pa.types.is_floating(column.type):
        return False
    values = column.drop_null().to_numpy()
    return not np.isfinite(values).all() or bool(np.signbit(values[values == 0]).any())


def spelt(lines: bytes, columns: pa.Schema, others: bool = False) -> bytes:
    """The lines with any value as text where the type is STRING or DECIMAL, and floats as Spark reads them.

    O(bytes), whatever they contain. others: whether other columns are read too.
    """
    nodes = _Nodes()
    nodes.add([pa.struct(list(columns))], [""])
    text = np.frombuffer(lines, np.uint8)
    out = np.empty(3 * len(text) + 2, np.uint8)
    places = (np.array(one, np.int64) for one in (nodes.kinds, nodes.firsts, nodes.lasts))
    names, ends = np.frombuffer(b"".join(nodes.names) or b" ", np.uint8), np.cumsum([*map(len, nodes.names)])
    return out[: json_spelt(text, *places, names, ends.astype(np.int64), others, out)].tobytes()


@define
class _Nodes:
    """A type and its parts, with those of one struct next to each other."""

    kinds: list[int] = field(factory=list)
    firsts: list[int] = field(factory=list)
    lasts: list[int] = field(factory=list)
    names: list[bytes] = field(factory=list)

    def add(self, types: list[pa.DataType], names: list[str]) -> None:
        """Add types next to each other, followed by the parts of each."""
        begin = len(self.kinds)
        self.kinds += map(_kind, types)
        self.firsts += [0] * len(types)
        self.lasts += [0] * len(types)
        self.names += [name.encode() for name in names]
        for node, kind in enumerate(types, begin):
            parts = [kind.field(place) for place in range(kind.num_fields)]
            self.firsts[node] = len(self.kinds)
            self.add([part.type for part in parts], [part.name for part in parts])
            self.lasts[node] = self.firsts[node] + len(parts)


def _kind(kind: pa.DataType) -> int:
    if pa.types.is_struct(kind):
        return OBJECT
    if pa.types.is_list(kind):
        return LIST
    if pa.types.is_floating(kind):
        return FLOAT
    return TEXT if pa.types.is_string(kind) or pa.types.is_decimal(kind) else OTHER
