"""The net effect of a log of changes on a table: the rows it removes, and the rows it puts."""

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from skyband.arrays import Int64
from skyband.columns.row_codes import row_codes

if TYPE_CHECKING:
    import pyarrow as pa

_CHANGE, _REMOVES = "change", ("left", "emptied")


@frozen
class NetChanges:
    """The last change of each key in a log, to apply to a table: `gone` first, then `rows`.

    A row of `rows` replaces the one with its key, if there is one. No key is in both, and none occurs twice.
    """

    key: tuple[str, ...]
    """The columns that identify a row, including those of `by`; each may be null."""
    gone: "pa.Table"
    """The keys of rows that are in no answer any more, as columns of `key`. The table need not have them."""
    rows: "pa.Table"
    """Rows as in the answers, without the column `change`."""

    @classmethod
    def of(cls, log: "pa.Table", key: tuple[str, ...]) -> "NetChanges":
        """Build it from a log of `answers = "changes"`, ordered at least within each moment. O(n log n)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        last = last_changes(log, key)
        removes = pc.is_in(last.column(_CHANGE), pa.array(_REMOVES))
        return cls(key, last.filter(removes).select(list(key)), last.filter(pc.invert(removes)).drop_columns(_CHANGE))

    def others(self, table: "pa.Table") -> "pa.Table":
        """The rows of a table whose keys are in neither, for formats that rewrite a table. O(n log n)."""
        import pyarrow as pa

        if not len(table) or not len(self):
            return table
        kinds = pa.schema([self.rows.schema.field(name) for name in self.key])
        keys = pa.concat_tables(one.select(list(self.key)).cast(kinds) for one in (self.gone, self.rows, table))
        codes = _key_codes(keys, self.key)
        return table.filter(pa.array(~np.isin(codes[len(self) :], codes[: len(self)])))

    def __len__(self) -> int:
        return len(self.gone) + len(self.rows)


def last_changes(log: "pa.Table", key: tuple[str, ...]) -> "pa.Table":
    """The rows of a log that are the last with their key, in log order."""
    import pyarrow as pa

    if len(log) == 0:
        return log
    at = log.column("at").cast(pa.int64()).to_numpy()
    codes = _key_codes(log, key)
    order = np.lexsort((np.arange(len(log)), at, codes))
    last = np.append(codes[order][1:] != codes[order][:-1], True)
    return log.take(pa.array(np.sort(order[last])))


def _key_codes(table: "pa.Table", key: tuple[str, ...]) -> Int64:
    """int64[n]: equal numbers for equal keys; null equals null but no value, −0.0 equals 0.0. O(n log n)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = []
    for name in key:
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_floating(column.type):
            column = pc.add(column.cast(pa.float64()), 0.0)
        codes.append(column.combine_chunks().dictionary_encode("encode").indices.to_numpy())
    return row_codes(codes)


def without_change(schema: "pa.Schema") -> "pa.Schema":
    """The columns of a log, without the column `change`."""
    return schema.remove(schema.get_field_index(_CHANGE)) if _CHANGE in schema.names else schema
