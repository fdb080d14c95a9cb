"""Which shard of a stream an operator is: written into its state, and checked wherever a state changes hands."""

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from skyband.arrays import UInt64
from skyband.errors import SnapshotError
from skyband.groups.partitioning import by_hash


@frozen
class Shard:
    """One shard of so many."""

    number: int
    """From 0."""
    count: int

    @classmethod
    def from_header(cls, value: Any) -> "Shard | None":
        """Out of a state's header, None where there is none. Raises SnapshotError for no shard."""
        if value is None:
            return None
        if not (isinstance(value, list) and len(value) == 2 and all(type(entry) is int for entry in value)):
            raise SnapshotError(f"contradicts itself: no shard is {value!r:.80}")
        if not 0 <= value[0] < value[1]:
            raise SnapshotError(f"contradicts itself: there is no shard {value[0]} of {value[1]}")
        return cls(*value)

    def to_header(self) -> list[int]:
        """For `from_header`."""
        return [self.number, self.count]

    def check_groups(self, keys: UInt64) -> None:
        """Raise SnapshotError unless rows of these groups come to this shard."""
        astray = int((by_hash(keys, self.count).shards != self.number).sum())
        if astray:
            raise SnapshotError(
                f"contradicts itself: {astray} of its {len(keys)} groups or rows are not of {self}: a "
                "Skyband that took shards for one another began this stream; begin anew, with history"
            )

    def __str__(self) -> str:
        return f"shard {self.number} of {self.count}"


def check_complete(shards: Sequence[Shard], count: int) -> None:
    """Raise SnapshotError unless these are all the shards of one stream of so many, each once."""
    if sorted(shard.number for shard in shards) != [*range(count)] or {shard.count for shard in shards} != {count}:
        raise SnapshotError(f"contradicts itself: its {count} states are of {', '.join(map(str, shards))}")
