"""Reads vectors of Spark ML as Arrow has them: structs of type (0 sparse, 1 dense), size, indices and values."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.arrays import Int64

_FIELDS = {
    "type": pa.types.is_integer,
    "size": pa.types.is_integer,
    "indices": lambda kind: pa.types.is_list(kind) and pa.types.is_integer(kind.value_type),
    "values": lambda kind: pa.types.is_list(kind) and pa.types.is_floating(kind.value_type),
}


def is_ml_vector(kind: pa.DataType) -> bool:
    """Whether a type is the struct that Spark ML stores its vectors as."""
    if not pa.types.is_struct(kind) or [field.name for field in kind] != list(_FIELDS):
        return False
    return all(_FIELDS[field.name](field.type) for field in kind)


def lists_of_ml_vectors(column: pa.StructArray, dimensions: int) -> pa.LargeListArray:
    """The vectors as lists of numbers, with zeros where a sparse one has no value. O(entries).

    A sparse vector of another size, or whose indices do not fit, becomes an empty list.
    """
    kinds, sizes, indices, values = column.flatten()
    lists = values.cast(pa.large_list(values.type.value_type))
    sparse = pc.equal(kinds, 0).fill_null(False).to_numpy(zero_copy_only=False)
    if not sparse.any():
        return lists
    counts = _lengths(lists)
    fits = (sizes.fill_null(-1).to_numpy() == dimensions) & (counts == _lengths(indices))
    owners = np.repeat(np.arange(len(column)), counts)
    places = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    own = sparse & fits
    inside = pc.list_flatten(indices).to_numpy(zero_copy_only=False)[np.repeat(own, _lengths(indices))]
    of_own = own[owners]
    places[of_own] = inside
    outside = of_own & ((places < 0) | (places >= dimensions))
    fits[owners[outside]] = False
    own = sparse & fits
    lengths = np.where(sparse, np.where(fits, dimensions, 0), counts)
    begins = np.append(0, np.cumsum(lengths))
    flat, fine = pc.list_flatten(lists), ~sparse[owners] | own[owners]
    numbers, nulls = np.zeros(begins[-1]), np.zeros(begins[-1], bool)
    at = (begins[owners] + places)[fine]
    numbers[at] = flat.to_numpy(zero_copy_only=False)[fine]
    nulls[at] = flat.is_null().to_numpy(zero_copy_only=False)[fine]
    return pa.LargeListArray.from_arrays(pa.array(begins), pa.array(numbers, mask=nulls), mask=column.is_null())


def _lengths(lists: pa.Array) -> Int64:
    lengths: Int64 = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
    return lengths
