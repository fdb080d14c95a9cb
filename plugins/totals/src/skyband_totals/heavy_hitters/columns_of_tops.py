"""The columns of the answers of many groups, of all at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Array
from skyband.columns.ids import joined_values
from skyband.groups.answer_columns import sizes_and_ranks


def columns_of_tops(answers: Sequence[Sequence[Any]]) -> list[Array | pa.Array]:
    """The columns at, window, rank, object, total, share, low and high.

    answers: of each group its moments, int64[q], the number of its windows, its `Tops` of these and the names of their
    objects, None where their ids tell these. O(entries).
    """
    moments, windows, tops, names = zip(*answers, strict=True)
    counts = np.repeat(windows, [len(some) for some in moments])
    places = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    sizes, ranks = sizes_and_ranks([one.offsets for one in tops])
    totals = np.concatenate([one.totals for one in tops])
    return [
        np.repeat(np.repeat(np.concatenate(moments), counts), sizes),
        np.repeat(places, sizes),
        ranks,
        np.concatenate([one.objects for one in tops]) if names[0] is None else joined_values(names),
        totals,
        totals / np.repeat(np.concatenate([one.grand for one in tops]), sizes),
        np.concatenate([one.low for one in tops]),
        np.concatenate([one.high for one in tops]),
    ]
