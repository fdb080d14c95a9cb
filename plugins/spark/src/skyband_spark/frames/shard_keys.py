"""The keys of shards in Spark: not their numbers, so that each shard gets its own partition."""

from functools import cache
from struct import pack

import mmh3
from skyband.errors import SnapshotError

_SPARKS_SEED = 42


@cache
def keys_of(shards: int) -> tuple[int, ...]:
    """A key for each shard, which Spark hashes to its own partition if their number divides that of partitions.

    With plain numbers two of two shards would share a partition, and three of eight. Keys are part of the state: they
    depend only on the number of shards. They do not ascend: for four shards they are 2, 0, 14 and 3.
    """
    keys: dict[int, int] = {}
    key = 0
    while len(keys) < shards:
        keys.setdefault(mmh3.hash(pack("<q", key), _SPARKS_SEED) % shards, key)
        key += 1
    return tuple(keys[shard] for shard in range(shards))


def number_of(key: int, shards: int) -> int:
    """The number of the shard with this key. Raises SnapshotError where there is none."""
    try:
        return keys_of(shards).index(key)
    except ValueError:
        raise SnapshotError(f"contradicts itself: none of {shards} shards has the key {key}") from None
