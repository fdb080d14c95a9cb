"""Promotes groups that a pass leaves with too many entries: each continues with its own processor."""

from collections.abc import Sequence

import numpy as np

from skyband.columns import column_ops
from skyband.columns.column_ops import Column
from skyband.columns.rows import Rows
from skyband.groups.small_groups.host import Promoted
from skyband.groups.small_groups.passes import PassInput, PassResult
from skyband.groups.small_groups.table import SmallGroupTable


def groups_that_grew(table: SmallGroupTable, step: PassInput, result: PassResult) -> Sequence[Promoted]:
    """The processor of each session with too many entries, and the rows that the pass did not take in.

    The table's rows behind its answers move along. O(entries log entries) for a group.
    """
    first = np.cumsum(result.size) - result.size
    leaving = []
    for session in np.flatnonzero(result.grown >= 0).tolist():
        own = slice(first[session], first[session] + result.size[session])
        rest = slice(result.grown[session], step.sessions.stop[session])
        order = np.argsort(result.entries["time"][own], kind="stable")
        entries = {name: column_ops.pick(values[own], order) for name, values in result.entries.items()}
        key = int(step.sessions.key[session])
        entries |= _rows_behind(table, key, int(step.sessions.last[session]), rest.stop - rest.start, entries)
        rows = {name: column[rest] for name, column in step.rows.items()}
        if table.names is not None:
            rows["name"] = table.names.lookup(rows[table.identity])
        processor = table.processor(int(step.times[rest.start - 1]), entries)
        leaving.append(Promoted(key, processor, table.rows_for_processor(Rows(step.times[rest], rows))))
    return leaving


def _rows_behind(
    table: SmallGroupTable, key: int, until: int, remaining: int, entries: dict[str, Column]
) -> dict[str, Column]:
    """The carried columns of a group's entries; the table forgets them. remaining: later rows, up to `until`."""
    if table.rows_behind is None:
        return {}
    values = entries["time"] if table.ranked_by is None else table.signed(entries[table.ranked_by])
    columns = entries["time"], entries[table.identity], values
    return table.rows_behind.take_group(key, until, remaining, *columns)
