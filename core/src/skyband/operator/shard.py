"""The shard of a stream that an operator is: stored in its state, and checked when a state is passed on."""

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from skyband.arrays import UInt64
from skyband.errors import SnapshotError
from skyband.groups.partitioning import by_hash


@frozen
class Shard:
    """One shard of `count`."""

    number: int
    """The number, from 0."""
    count: int

    @classmethod
    def from_header(cls, value: Any) -> "Shard | None":
        """The shard in a state's header, None if it has none. Raises SnapshotError if it is invalid."""
        if value is None:
            return None
        if not (isinstance(value, list) and len(value) == 2 and all(type(entry) is int for entry in value)):
            raise SnapshotError(f"contradicts itself: {value!r:.80} is not a shard")
        if not 0 <= value[0] < value[1]:
            raise SnapshotError(f"contradicts itself: there is no shard {value[0]} of {value[1]}")
        return cls(*value)

    def to_header(self) -> list[int]:
        """The value for `from_header`."""
        return [self.number, self.count]

    def check_groups(self, keys: UInt64) -> None:
        """Raise SnapshotError unless rows of these groups belong to this shard."""
        astray = int((by_hash(keys, self.count).shards != self.number).sum())
        if astray:
            raise SnapshotError(
                f"contradicts itself: {astray} of its {len(keys)} groups or rows do not belong to {self}: an "
                "old Skyband mixed up the shards of this stream; start over, with history"
            )

    def __str__(self) -> str:
        return f"shard {self.number} of {self.count}"


def check_complete(shards: Sequence[Shard], count: int) -> None:
    """Raise SnapshotError unless these are all `count` shards of one stream, without duplicates."""
    if sorted(shard.number for shard in shards) != [*range(count)] or {shard.count for shard in shards} != {count}:
        raise SnapshotError(f"contradicts itself: its {count} states are of {', '.join(map(str, shards))}")
