"""Runs detections: one processor for all keys, on any number of shards."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.arrays import Array, Int64, UInt64
from skyband.groups.execution import Execution
from skyband.groups.partitioning import Partitioning, by_hash
from skyband.groups.processor import GroupProcessor
from skyband.registry import Binding
from skyband.roles.sharding import BOTH, PROBE

from skyband_detect.detections.counters import WORD, bits_column, key_column
from skyband_detect.detections.query import Detections

if TYPE_CHECKING:
    from skyband_detect.detections.coming_rules import ComingRules

_PLACE = "place of the rule"


class DetectionsExecution(Execution[Detections]):
    """Runs detections."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        from skyband_detect.detections.processor import DetectionsProcessor  # on use, because it loads numba

        return DetectionsProcessor(self.query, bindings, answers)

    def unmerged(self, bindings: Mapping[str, Binding]) -> str | None:
        lacking = [binding.info for binding in bindings.values() if "merge" in binding.info.lacks]
        return f"{lacking[0].name} lacks merge: {lacking[0].lacks['merge']}" if lacking else None

    def broadcast_state(self) -> "ComingRules | None":
        if not (self.query.keys or self.query.keep):
            return None
        from skyband_detect.detections.coming_rules import ComingRules

        return ComingRules(self.query)

    def partition(self, frame: pa.RecordBatch, shards: int) -> Partitioning:
        """Each row to the shards of its keys, with the bits of the counters that count it there.

        The lowest of them owns it; a row in no counter goes to the shard of its first key. O(n · keys).
        """
        words = [bits_column(word) for word in range(self.query.counters.words)]
        bits = {name: frame.column(name).to_numpy() for name in words}
        entries, masks = list[tuple[Int64, Int64]](), list[dict[str, UInt64]]()
        covered = np.zeros(len(frame), np.bool_)
        for key, own in self._counters_by_key().items():
            shard = self._shard_of(key, frame, shards)
            of_key = {name: bits[name] & np.uint64(own[word]) for word, name in enumerate(words)}
            some = np.flatnonzero(np.any(list(of_key.values()), axis=0))
            covered[some] = True
            entries.append((some, shard[some]))
            masks.append({name: mask[some] for name, mask in of_key.items()})
        rest = np.flatnonzero(~covered)
        first = next(iter(self._counters_by_key()))
        entries.append((rest, self._shard_of(first, frame, shards)[rest]))
        masks.append({name: np.zeros(len(rest), np.uint64) for name in words})
        rows, of_shards = (np.concatenate(column) for column in zip(*entries, strict=True))
        order = np.lexsort((of_shards, rows))
        rows, of_shards = rows[order], of_shards[order]
        new = _begins(rows, of_shards)
        starts = np.flatnonzero(new)
        columns = {
            name: np.bitwise_or.reduceat(np.concatenate([mask[name] for mask in masks])[order], starts)
            if len(starts) else np.empty(0, np.uint64)
            for name in words
        }  # fmt: skip
        rows, of_shards = rows[starts], of_shards[starts]
        owns = _begins(rows, rows)
        return Partitioning(rows, of_shards, np.where(owns, BOTH, PROBE).astype(np.int8), columns)

    def merge(self, answers: pa.Table) -> pa.Table:
        """Answers of all shards in order of time, rule and key; no two shards count one key of a rule."""
        names = pa.array([rule.name for rule in self.query.detections], pa.string())
        ordered = answers.append_column(_PLACE, pc.index_in(answers["rule"], names))
        order = [(name, "ascending") for name in ("time", _PLACE, "rule", "key")]  # rules that came have no place
        return ordered.sort_by(order).drop_columns([_PLACE])

    def _counters_by_key(self) -> dict[tuple[str, ...], list[int]]:
        """For each key, its bits in each word."""
        counters = self.query.counters
        words: dict[tuple[str, ...], list[int]] = {}
        for number, key in enumerate(counters.keys_of_bits):
            own = words.setdefault(key, [0] * counters.words)
            own[number // WORD] |= 1 << number % WORD
        return words

    def _shard_of(self, key: tuple[str, ...], frame: pa.RecordBatch, shards: int) -> Int64:
        if not key:
            return np.zeros(len(frame), np.int64)
        column = key_column(self.query.counters.keys.index(key))
        return by_hash(frame.column(column).to_numpy(), shards).shards


def _begins(*columns: Array) -> Array:
    """bool[n]: where a value differs from the one before, in any of the columns."""
    new = np.ones(len(columns[0]), np.bool_)
    new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return new
