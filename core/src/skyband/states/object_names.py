"""The state of a ranker: its reader, and the values behind the ids by which it knows objects."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define

from skyband import snapshot
from skyband.arrays import Array, Int64
from skyband.columns import record_batch_bytes
from skyband.columns.integer_ids import integers_of, is_integer_id, numbers_column
from skyband.config.durations import written
from skyband.errors import InputError, SnapshotError
from skyband.roles.top_reader import TopReader
from skyband.state_validation import StateReader
from skyband.states.compatibility import check_alike
from skyband.states.coverage import Coverage
from skyband.states.state import AnyState, Readers, installed_readers, parameters_in, read_arrays, sketch_state

NAMES, PHASE = "names", "phase"
_LONGEST = 2**61
"""No step between moments is longer."""


@define
class RankerState(AnyState):
    """The state of a ranker, with a reader of it."""

    reader: TopReader
    names: pa.RecordBatch
    """id int64, ascending, and name: the objects' values; without rows where these are integers, their own ids."""
    phase: int
    """The ranker was told times as so much earlier."""

    @property
    def earliest(self) -> int:
        return self.reader.floor + self.phase

    @property
    def latest(self) -> int | None:
        return None if self.reader.latest is None else self.reader.latest + self.phase

    @property
    def retained(self) -> int:
        return self.reader.retained

    def to_ranker(self, name: str, since: int) -> int:
        """A moment as the ranker knows it. Raises InputError where the ranker does not answer from there."""
        moment = since - self.phase
        if moment % self.reader.grain:
            rows = self.covers is not None and self.covers.rows
            step = written(self.reader.grain, rows)
            said = f"{self.key} answers windows that begin at multiples of {step}, the common divisor of its query's"
            raise InputError(name, f"{said} `every` and `windows`: ask for one, or take total-ranker/k-skb")
        return moment


def read_ranker_state(blob: Any, readers: Readers | None = None) -> RankerState:
    """A state from its bytes. Raises SnapshotError where they are damaged, newer, or not the state of a ranker."""
    state = read_any_state(blob, readers)
    if not isinstance(state, RankerState):
        raise SnapshotError(f"holds the state of {state.key}, which ranks nothing: estimate asks it")
    return state


def read_any_state(blob: Any, readers: Readers | None = None) -> AnyState:
    """The state of a sketch or a ranker from its bytes. Raises SnapshotError where they are damaged or newer."""
    held, known = snapshot.decode(blob), readers or installed_readers()
    nbytes = len(memoryview(blob).cast("B"))
    info = known.rankers.get(f"{held.header.get('role')}/{held.header.get('name')}")
    if info is None:
        return sketch_state(held, nbytes, known)
    parameters = parameters_in(held, info)
    reader = read_arrays(info, parameters, held.arrays)
    phase = _phase(held.arrays)
    names = _names(held.arrays)
    state = RankerState(info, parameters, Coverage.from_header(held.header), nbytes, reader, names, phase)
    state.check_coverage()
    return state


def check_together(states: Sequence[RankerState]) -> None:
    """Raise InputError, naming the row, unless all are alike, and know objects of one type."""
    check_alike(states)
    first = states[0]
    for row, other in enumerate(states[1:], 1):
        mine, theirs = (state.names.schema.field("name").type for state in (first, other))
        if mine != theirs:
            raise InputError("states", f"ranks objects of {theirs}, the first of {mine}: they must be of one type", row)
        if other.phase != first.phase:
            raise InputError("states", "has moments with another `offset` than the first: they must be equal", row)


def values_of(states: Sequence[RankerState], ids: Int64) -> pa.Array:
    """The objects' values. Raises SnapshotError where no state names one."""
    kind = states[0].names.schema.field("name").type
    if is_integer_id(kind):
        return integers_of(ids, kind)
    frame = together([state.names for state in states])
    known = _ids(frame)
    places = np.minimum(np.searchsorted(known, ids), max(len(known) - 1, 0))
    if len(ids) and (not len(known) or (known[places] != ids).any()):
        raise SnapshotError("contradicts itself: the state has no name for an object that it ranks")
    return frame.column("name").take(numbers_column(places))


def together(frames: Sequence[pa.RecordBatch], used: Int64 | None = None) -> pa.RecordBatch:
    """The names of several states, each id once; only of the ids that are `used`."""
    frame = pa.Table.from_batches(list(frames)).combine_chunks().to_batches()
    if not frame:
        return frames[0]
    ids = _ids(frame[0])
    order = np.argsort(ids, kind="stable")
    once = np.append(True, ids[order][1:] != ids[order][:-1])[: len(order)]
    kept = order[once] if used is None else order[once & np.isin(ids[order], used)]
    return frame[0].take(numbers_column(kept))


def extra_arrays(names: pa.RecordBatch, phase: int) -> dict[str, Array]:
    """What a ranker's state has besides the ranker's own arrays, which `skyband.restore` passes over."""
    return {
        NAMES: np.frombuffer(record_batch_bytes.to_bytes(names), np.uint8),
        PHASE: np.array([phase] if phase else [], np.int64),
    }


_SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.int64())])
"""Of the objects of a snapshot that a ranker of its own made: the integers that it was given."""


def _phase(arrays: Mapping[str, Array]) -> int:
    if PHASE not in arrays:
        return 0
    held = StateReader(arrays).column(PHASE, np.int64, at_least=0, at_most=_LONGEST).tolist()
    if len(held) > 1:
        raise SnapshotError(f"contradicts itself: {PHASE}: must have at most one value")
    return int(held[0]) if held else 0


def _names(arrays: Mapping[str, Array]) -> pa.RecordBatch:
    if NAMES not in arrays:
        return pa.RecordBatch.from_arrays([numbers_column(_NO_IDS)] * 2, schema=_SCHEMA)
    held = StateReader(arrays).column(NAMES, np.uint8)
    frame = record_batch_bytes.from_bytes(held.data)
    if frame.schema.names != ["id", "name"] or frame.schema.field("id").type != pa.int64():
        raise SnapshotError("contradicts itself: its names must be columns id and name")
    ids = _ids(frame)
    if frame.column("id").null_count or (ids[1:] <= ids[:-1]).any():
        raise SnapshotError("contradicts itself: names must be in the order of their ids, each once")
    return frame


def _ids(frame: pa.RecordBatch) -> Int64:
    """The column `id` from its buffer: `to_numpy` imports pandas where it is installed."""
    column = frame.column("id")
    return np.frombuffer(column.buffers()[1], np.int64, len(column), 8 * column.offset) if len(column) else _NO_IDS


_NO_IDS = np.empty(0, np.int64)
