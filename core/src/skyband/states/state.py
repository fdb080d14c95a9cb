"""Reads one state from its bytes and validates each part, without building its backend."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
from attrs import define

from skyband import snapshot
from skyband.arrays import TIME_MIN, Array
from skyband.config.durations import length_text
from skyband.errors import ConfigError, InputError, PluginError, SnapshotError
from skyband.registry.info import BackendInfo, QueryInfo
from skyband.registry.module_import import cause
from skyband.roles.answering_reader import AnsweringReader
from skyband.states.coverage import HEADER, Coverage
from skyband.states.object_names import names_in, phase_in
from skyband.states.readers import Readers, installed_readers


@define
class State:
    """A state: its backend, the window it covers, and a reader."""

    info: BackendInfo | QueryInfo
    """The query, if it emitted the state itself."""
    parameters: dict[str, Any]
    covers: Coverage | None
    nbytes: int
    reader: Any
    """An AnsweringReader."""
    names: pa.RecordBatch | None = None
    """id int64, ascending, and name: the objects' values; without rows if these are integers and so their own ids. None
    if the backend knows no objects."""
    phase: int = 0
    """The backend's times are this much earlier."""

    @property
    def key(self) -> str:
        """`role/name` of its backend."""
        return self.info.key

    @property
    def floor(self) -> int:
        """The earliest moment that it answers from."""
        return self.earliest if self.covers is None else self.covers.since

    @property
    def earliest(self) -> int:
        """The earliest time that the backend still remembers."""
        floor: int = self.reader.floor
        return floor + self.phase

    @property
    def latest(self) -> int | None:
        """The latest time in it."""
        return None if self.reader.latest is None else self.reader.latest + self.phase

    @property
    def retained(self) -> int:
        """The number of items it holds."""
        retained: int = self.reader.retained
        return retained

    def to_backend(self, name: str, since: int) -> int:
        """A moment in the backend's time; `name`: the argument that an error names.

        Raises InputError if the backend does not answer from there.
        """
        moment = since - self.phase
        grain: int = self.reader.grain
        if moment % grain:
            step = length_text(grain, self.covers is not None and self.covers.rows)
            message = f"{self.key} answers windows that begin at multiples of {step}, the common divisor of its query's"
            finer = f", or take {self.reader.finer}" if self.reader.finer else ""
            raise InputError(name, f"{message} `every` and `windows`: ask for one{finer}")
        return moment

    def check_coverage(self) -> None:
        """Raise SnapshotError unless it holds exactly what its header says that it covers."""
        covers = self.covers
        latest = TIME_MIN if self.latest is None else self.latest
        if covers is not None and (self.earliest > covers.since or latest >= covers.at):
            raise SnapshotError(f"contradicts itself: it does not hold exactly what it covers, {covers.to_header()}")


def read_state(blob: Any, readers: Readers | None = None) -> State:
    """A state from its bytes. Raises SnapshotError if they are damaged, newer, or of a backend that cannot be read."""
    decoded, own_readers = snapshot.decode(blob), readers or installed_readers()
    if "role" not in decoded.header:
        raise SnapshotError("is not a backend's state, so no question can be asked")
    info = own_readers.info(decoded.header["role"], decoded.header.get("name"))
    parameters = decoded.header.get("parameters")
    if not isinstance(parameters, dict):
        raise SnapshotError(f"of {info.key} does not fit the installed version: its parameters are {parameters!r:.80}")
    cls = own_readers.reader(info)
    reader = _read_arrays(cls, info, parameters, decoded.arrays)
    covers, nbytes = Coverage.from_header(decoded.header), len(memoryview(blob).cast("B"))
    if cls.object_ids is None:
        state = State(info, parameters, covers, nbytes, reader)
    else:
        state = State(info, parameters, covers, nbytes, reader, names_in(decoded.arrays), phase_in(decoded.arrays))
    state.check_coverage()
    return state


def read_states(states: Any, readers: Readers | None = None) -> list[State]:
    """The states, one or several. Raises InputError if there are none."""
    if isinstance(states, bytes | bytearray | memoryview):
        return [read_state(states, readers)]
    if isinstance(states, str) or not isinstance(states, Iterable):
        raise InputError("states", f"must be the bytes of a state, or several of them (got {type(states).__name__})")
    several = [read_state(state_bytes(state), readers) for state in states]
    if not several:
        raise InputError("states", "must not be empty")
    return several


def state_bytes(state: Any) -> Any:
    """The bytes of a state, which may come from an Arrow column."""
    return state.as_buffer() if isinstance(state, pa.Scalar) else state


def encode_state(role: str, name: str, parameters: Mapping[str, Any], state: Mapping[str, Array], covers: Any) -> bytes:
    """The bytes of a state: the snapshot of a backend, with its coverage (a Coverage or None) in the header.

    `skyband.restore` accepts it too.
    """
    extra = {} if covers is None else {HEADER: covers.to_header()}
    return snapshot.encode({"role": role, "name": name, "parameters": dict(parameters), **extra}, state)


def _read_arrays(
    cls: Callable[..., AnsweringReader],
    info: BackendInfo | QueryInfo,
    parameters: dict[str, Any],
    arrays: Mapping[str, Array],
) -> AnsweringReader:
    """The reader of a state. Raises SnapshotError if the state contradicts itself."""
    try:
        return cls(parameters, arrays)
    except SnapshotError as error:
        raise SnapshotError(f"of {info.key}: {error}") from error
    except PluginError:
        raise
    except Exception as error:  # parameters that another version wrote
        reason = error if isinstance(error, ConfigError) else cause(error)
        raise SnapshotError(f"of {info.key} does not fit the installed version: {reason}") from error
