"""The keys under which Spark knows the shards: not their numbers, so that each has a partition of its own."""

from functools import cache
from struct import pack

import mmh3
from skyband.errors import SnapshotError

_SPARKS_SEED = 42


@cache
def keys_of(shards: int) -> tuple[int, ...]:
    """A key for each shard that Spark hashes into a partition of its own, where it has as many or a multiple of them.

    By their numbers two of two shards would share a partition, and three of eight. Keys are of state: they follow from
    the number of shards alone. They do not ascend: of four shards they are 2, 0, 14 and 3.
    """
    keys: dict[int, int] = {}
    key = 0
    while len(keys) < shards:
        keys.setdefault(mmh3.hash(pack("<q", key), _SPARKS_SEED) % shards, key)
        key += 1
    return tuple(keys[shard] for shard in range(shards))


def number_of(key: int, shards: int) -> int:
    """The number of the shard that Spark knows under this key. Raises SnapshotError where none of so many is."""
    try:
        return keys_of(shards).index(key)
    except ValueError:
        raise SnapshotError(f"contradicts itself: none of {shards} shards has the key {key}") from None
