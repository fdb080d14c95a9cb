"""Takes values from columns stored in runs: new rows form a run, and runs are merged now and then."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from skyband.arrays import Int64
from skyband.columns.integer_ids import numbers_column


def take(column: pa.Array, places: Int64) -> pa.Array:
    """The values at these places, counted from 0."""
    if pa.types.is_integer(column.type) and not column.null_count:  # as for most ids: takes a third of the time
        return numbers_column(column.to_numpy()[places])
    return column.take(numbers_column(places))


def take_from_runs(runs: Sequence[Sequence[pa.Array]], run: Int64, places: Int64) -> list[pa.Array]:
    """For each column the values at these places of these runs. O(n log n) for n places.

    runs: the columns of each run, with the same types in all. There is at least one place.
    """
    if len(runs) == 1:
        return [take(column, places) for column in runs[0]]
    parts = [(number, np.flatnonzero(run == number)) for number in np.unique(run).tolist()]
    columns = [[take(column, places[own]) for column in runs[number]] for number, own in parts]
    if len(parts) == 1:
        return columns[0]
    order = np.argsort(np.concatenate([own for _, own in parts]))
    return [take(pa.concat_arrays(pieces), order) for pieces in zip(*columns, strict=True)]
