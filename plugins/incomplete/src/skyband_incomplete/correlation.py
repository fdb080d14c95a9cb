"""The probability that an object appears in a stream, given those it was seen in: join sizes from distinct counts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import skyband
from skyband import ConfigError, Problem, SnapshotError, snapshot
from skyband.arrays import TIME_MIN, Array, Float64, Int32, Int64
from skyband.columns.hashing import hash_column
from skyband.errors import problems_within
from skyband.registry import revive
from skyband.roles import Sketch
from skyband.state_validation import StateReader

MOST_STREAMS = 10


def check_unions(streams: int, sketch: str | Mapping[str, Any] | None) -> None:
    """Raise ConfigError if `Appearance` does not support these parameters."""
    if streams > MOST_STREAMS:
        message = f"must be at most {MOST_STREAMS} to measure every set of them (got {streams}); set a `chance`"
        raise ConfigError(Problem("streams", message))
    _create(sketch)


class Appearance:
    """One sketch for the union of each set of streams, numbered by its bits; with any sketch backend.

    Each union has its own sketch, so that the backend need not support merging. Memory is 2^streams − 1 sketches, and a
    report goes into half of them.
    """

    def __init__(self, streams: int, sketch: str | Mapping[str, Any] | None) -> None:
        self.streams = streams
        self.unions = [_create(sketch) for _ in range(1, 1 << streams)]

    def update(self, times: Int64, streams: Int32, objects: Int64) -> None:
        """Add reports to the sketches."""
        keys = hash_column(pa.array(objects))
        times = np.maximum(times, TIME_MIN + 1)
        bits = np.left_shift(1, streams)
        for number, union in enumerate(self.unions, 1):
            inside = (bits & number) > 0
            if inside.any():
                union.update(times[inside], keys[inside])

    def chances(self, since: int) -> Float64:
        """float64[2^streams, streams]: P(an object appears in a stream | it was seen in this set of streams).

        The size of the join of the set and the stream divided by that of the set, over the reports since `since`; 1 if
        nothing is known of the set. Earlier reports are forgotten, so `since` must not go back.
        """
        for union in self.unions:
            union.forget(since)
        joins = join_sizes(np.array([0.0, *(union.estimate(since) for union in self.unions)]))
        with_stream = np.arange(1 << self.streams)[:, None] | (1 << np.arange(self.streams))
        alone = joins[:, None]
        shares = np.divide(joins[with_stream], alone, out=np.ones_like(alone * with_stream), where=alone > 0)
        shares[0] = 1.0
        return np.clip(shares, 0.0, 1.0)

    @property
    def nbytes(self) -> int:
        """Bytes of the sketches."""
        return sum(union.nbytes for union in self.unions)

    def state(self) -> dict[str, Array]:
        """The sketches' snapshots, one after the other, and their lengths."""
        blobs = [union.snapshot() for union in self.unions]
        return {
            "sketches": np.frombuffer(b"".join(blobs), np.uint8),
            "sketch_sizes": np.array([len(blob) for blob in blobs], np.int64),
        }

    def load(self, state: StateReader, now: int | None) -> None:
        """Restore sketches from `state`, at `now`. Raises SnapshotError if they are of another kind."""
        blobs = state.column("sketches", np.uint8)
        sizes = state.sizes("sketch_sizes", len(self.unions), len(blobs))
        parts = np.split(blobs, np.cumsum(sizes)[:-1])
        self.unions = [revive_as(fresh, part.tobytes()) for fresh, part in zip(self.unions, parts, strict=True)]
        for union in self.unions:
            late = union.now is not None and (now is None or union.now > max(now, TIME_MIN + 1))
            state.require(not late, "sketches", f"must not be later than {now}")


def join_sizes(unions: Float64) -> Float64:
    """The size of every set's join from the sizes of all unions, by inclusion-exclusion: O(3^streams).

    Estimates are made consistent: a join is at least 0, and at most the join of any subset.
    """
    joins = np.zeros_like(unions)
    for number in range(1, len(unions)):
        part, total = number, 0.0
        while part:
            total += unions[part] if part.bit_count() % 2 else -unions[part]
            part = (part - 1) & number
        bits = [1 << bit for bit in range(number.bit_length()) if number >> bit & 1]
        smaller = [joins[number ^ bit] for bit in bits if number != bit]
        joins[number] = min([max(total, 0.0), *smaller])
    return joins


def _create(sketch: str | Mapping[str, Any] | None) -> Sketch:
    parameters = dict(sketch) if isinstance(sketch, Mapping) else {"name": sketch}
    with problems_within("sketch"):
        created = skyband.create("sketch", parameters.pop("name", None), **parameters)
    assert isinstance(created, Sketch)
    return created


def revive_as(fresh: Sketch, blob: bytes) -> Sketch:
    """The sketch in a snapshot, which must have the class and the parameters of `fresh`."""
    decoded = snapshot.decode(blob)
    own_class = {"role": fresh.role, "name": fresh.name, "parameters": fresh.parameters()}
    if snapshot.text(own_class) == snapshot.text({name: decoded.header.get(name) for name in own_class}):
        fresh.load_state(decoded.arrays)
        return fresh
    restored = revive(type(fresh), blob)
    if restored.parameters() != fresh.parameters():
        raise SnapshotError(f"is inconsistent: sketches: must have the parameters {fresh.parameters()}")
    assert isinstance(restored, Sketch)
    return restored
