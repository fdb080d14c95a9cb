"""What a log of changes does to a table in the end: which rows go, and which stand there instead."""

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

if TYPE_CHECKING:
    import pyarrow as pa

_CHANGE, _REMOVES = "change", ("left", "emptied")


@frozen
class NetChanges:
    """The last change of each key in a log, as a table takes them: `gone` first, then `rows`.

    A row of `rows` takes the place of the one with its key, if there is any. No key is in both, and none twice.
    """

    key: tuple[str, ...]
    """The columns that name a row, those of `by` among them; each may be null."""
    gone: "pa.Table"
    """The keys of rows that are in no answer any more, in the columns of `key`. The table need not have them."""
    rows: "pa.Table"
    """Rows as the answers have them, without the column `change`."""

    @classmethod
    def of(cls, log: "pa.Table", key: tuple[str, ...]) -> "NetChanges":
        """Of a log as `answers = "changes"` gives it, its rows in any order but those of one moment. O(n log n)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        last = last_changes(log, key)
        removes = pc.is_in(last.column(_CHANGE), pa.array(_REMOVES))
        return cls(key, last.filter(removes).select(list(key)), last.filter(pc.invert(removes)).drop_columns(_CHANGE))

    def others(self, table: "pa.Table") -> "pa.Table":
        """The rows of a table whose keys are in neither, for formats that write a table anew. O(n log n)."""
        import pyarrow as pa

        from skyband.columns.hashing import hash_columns

        if not len(table) or not len(self):
            return table
        kinds = pa.schema([self.rows.schema.field(name) for name in self.key])
        keys = [one.select(list(self.key)).cast(kinds).combine_chunks() for one in (self.gone, self.rows, table)]
        nothing = np.empty(0, np.uint64)
        gone, stand, there = (
            hash_columns([column.chunk(0) for column in one.columns]) if len(one) else nothing for one in keys
        )
        return table.filter(pa.array(~np.isin(there, np.concatenate([gone, stand]))))

    def __len__(self) -> int:
        return len(self.gone) + len(self.rows)


def last_changes(log: "pa.Table", key: tuple[str, ...]) -> "pa.Table":
    """The rows of a log that are the last of their key, in the order they have in it."""
    import pyarrow as pa

    from skyband.columns.hashing import hash_columns

    if len(log) == 0:
        return log
    log = log.combine_chunks()
    at = log.column("at").cast(pa.int64()).to_numpy()
    ids = hash_columns([log.column(name).chunk(0) for name in key])
    order = np.lexsort((np.arange(len(log)), at, ids))
    last = np.append(ids[order][1:] != ids[order][:-1], True)
    return log.take(pa.array(np.sort(order[last])))


def without_change(schema: "pa.Schema") -> "pa.Schema":
    """The columns of a log as a table of the newest answers has them."""
    return schema.remove(schema.get_field_index(_CHANGE)) if _CHANGE in schema.names else schema
