"""Computes the columns of the answers of many groups at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Array
from skyband.columns.values_by_id import joined_values
from skyband.groups.answer_columns import sizes_and_ranks


def columns_of_tops(answers: Sequence[Sequence[Any]]) -> list[Array | pa.Array]:
    """The columns at, window, rank, object, total, share, low and high.

    answers: for each group its moments, int64[q], the number of windows, their `Tops`, and the names of the objects,
    None if the ids are the names. O(entries).
    """
    moments, windows, tops, names = zip(*answers, strict=True)
    counts = np.repeat(windows, [len(own) for own in moments])
    places = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    sizes, ranks = sizes_and_ranks([part.offsets for part in tops])
    totals = np.concatenate([part.totals for part in tops])
    return [
        np.repeat(np.repeat(np.concatenate(moments), counts), sizes),
        np.repeat(places, sizes),
        ranks,
        np.concatenate([part.objects for part in tops]) if names[0] is None else joined_values(names),
        totals,
        totals / np.repeat(np.concatenate([part.grand for part in tops]), sizes),
        np.concatenate([part.low for part in tops]),
        np.concatenate([part.high for part in tops]),
    ]
