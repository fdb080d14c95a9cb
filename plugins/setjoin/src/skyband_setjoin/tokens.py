"""Encodes columns of token sets, lists of words or numbers, for pair rankers and set matchers."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.arrays import Array, Int64
from skyband.columns.hashing import hash_column
from skyband.columns.rows import Rows

WHAT = "a list of text or of integers"


def is_tokens(kind: pa.DataType) -> bool:
    """Whether a column of this type can hold token sets."""
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return False
    inner = kind.value_type
    return pa.types.is_integer(inner) or pa.types.is_string(inner) or pa.types.is_large_string(inner)


def encode_tokens(column: pa.Array) -> tuple[dict[str, pa.Array], dict[str, Array]]:
    """Frame columns tokens (lists of int64) and tie (uint64), and masks (bool[n]) of null lists and of empty lists.

    A whole number is its own token, text is hashed. A null in a list is not a token. `tie` is a hash of the list
    regardless of order, to order sets with equal time and id. O(bytes).
    """
    lists = column.cast(pa.large_list(column.type.value_type))
    flat = pc.list_flatten(lists)
    offsets = _running(pc.list_value_length(lists).fill_null(0).to_numpy(), np.int64)
    if flat.null_count:
        offsets = _running(flat.is_valid().to_numpy(zero_copy_only=False), np.int64)[offsets]
        flat = flat.drop_null()
    hashes = hash_column(flat)
    numbers = pa.types.is_integer(flat.type)
    tokens = flat.to_numpy().astype(np.int64) if numbers else hashes.view(np.int64)
    sums = _running(hashes, np.uint64)[offsets]
    frame = {
        "tokens": pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(tokens)),
        "tie": pa.array(sums[1:] - sums[:-1]),
    }
    null = lists.is_null().to_numpy(zero_copy_only=False)
    return frame, {"null tokens": null, "no tokens": (offsets[1:] == offsets[:-1]) & ~null}


def sets_of(lists: pa.LargeListArray) -> tuple[Int64, Int64]:
    """The token sets of a frame's rows for a pair ranker: (offsets int64[n + 1], tokens int64[m])."""
    offsets = lists.offsets.to_numpy()
    return offsets - offsets[0], lists.values.to_numpy()[offsets[0] : offsets[-1]]


def sets_of_rows(rows: Rows) -> tuple[Int64, Int64]:
    """`sets_of` the column "tokens" of a frame's rows, computed once for all slices of a frame."""
    (offsets, tokens), start, stop = rows.once(_all_sets)
    own = offsets[start : stop + 1]
    return own - own[0], tokens[own[0] : own[-1]]


def _all_sets(rows: Rows) -> tuple[Int64, Int64]:
    return sets_of(rows["tokens"])


def _running(entries: Array, kind: type[np.generic]) -> Array:
    """kind[n + 1]: the sums of the first 0, 1, … entries, modulo 2⁶⁴ for uint64."""
    return np.concatenate([np.zeros(1, kind), np.cumsum(entries, dtype=kind)])
