# mypy: disable-error-code="safe-super"
"""Faults to put into any correct backend, each with the common checks that must catch it.

They show that the common checks work in a new role, too: `faulty(info, cls, globals())` in its mutants.
"""

import zlib
from itertools import count
from typing import Any, ClassVar

import numpy as np
from skyband import BackendInfo
from skyband.arrays import Array
from skyband.roles import Backend
from skyband.roles.thread_guard import BROKEN, NO_THREAD

from skyband_specs.call_recorder import arrays_in

Mutant = tuple[BackendInfo, type[Backend], tuple[str, ...]]
"""A broken backend and the names of the checks that must catch it."""

_INSTANCES = count()
_OWNER: Any = vars(Backend)["_owner"]
"""The slot itself, which a property of the same name hides."""


class Fault(Backend):
    """A backend with `extra`, an additional number, in its state."""

    caught_by: ClassVar[tuple[str, ...]]
    extra: int = 0

    def before_call(self) -> None:
        """Called before each public call that feeds the backend, valid or not."""

    def after_batch(self, arrays: list[Array]) -> None:
        """Called after each accepted batch, with its arrays."""

    def _state(self) -> dict[str, Array]:
        return {**super()._state(), "extra": np.array([self.extra])}

    def _load(self, state: Any) -> None:
        self.extra = int(state["extra"][0])
        super()._load({name: array for name, array in state.items() if name != "extra"})


class NumberedInstance(Fault):
    """Each backend of a process has its own number."""

    caught_by = ("two_backends_agree",)

    def _state(self) -> dict[str, Array]:
        if not self.extra:
            self.extra = next(_INSTANCES)
        return super()._state()


class HashSeeded(Fault):
    """The state depends on builtin hash()."""

    caught_by = ("fresh_process_agrees",)

    def _state(self) -> dict[str, Array]:
        self.extra = hash("skyband")
        return super()._state()


class CountsSnapshots(Fault):
    """Questions leave a trace."""

    caught_by = ("asking_changes_nothing", "snapshot_leaves_the_backend_alone")

    def _state(self) -> dict[str, Array]:
        self.extra += 1
        return super()._state()


class CountsBatches(Fault):
    """The state depends on how the input was cut."""

    caught_by = ("tiny_streams_row_by_row", "seeded_streams_row_by_row", "random_batches", "odd_streams_row_by_row")

    def after_batch(self, arrays: list[Array]) -> None:  # noqa: ARG002
        self.extra += 1


class CountsCalls(Fault):
    """Calls leave a trace before their arguments are checked."""

    caught_by = ("empty_batches_change_nothing", "bad_input_leaves_no_trace")

    def before_call(self) -> None:
        self.extra += 1


class RestoresNothing(Fault):
    """A restored backend is empty."""

    caught_by = ("restored_is_the_same", "restored_goes_on_as_undisturbed", "restored_at_odd_moments")

    def _load(self, state: Any) -> None:
        state["extra"]


class KeepsReadOnlyArrays(Fault):
    """A restored backend cannot take a batch of one row, because its arrays are read-only."""

    caught_by = ("restored_goes_on_as_undisturbed",)
    is_restored: bool = False

    def _load(self, state: Any) -> None:
        super()._load(state)
        self.is_restored = True

    def after_batch(self, arrays: list[Array]) -> None:
        if self.is_restored and min(map(len, arrays)) == 1:
            np.frombuffer(b"0", np.uint8)[0] = 1


class ReusesSnapshot(Fault):
    """The next snapshot overwrites the last."""

    caught_by = ("snapshot_does_not_change_later",)

    def snapshot(self) -> Any:
        if not hasattr(self, "_buffer"):
            self._buffer = bytearray(1 << 22)
        blob = super().snapshot()
        self._buffer[: len(blob)] = blob
        return memoryview(self._buffer)[: len(blob)]


class LendsItsState(Fault):
    """An array of `dump_state` is the backend's own, and the next batch changes it."""

    caught_by = ("snapshot_does_not_change_later",)
    lent: Array | None = None

    def _state(self) -> dict[str, Array]:
        state = super()._state()
        self.lent = state["extra"]
        return state

    def after_batch(self, arrays: list[Array]) -> None:  # noqa: ARG002
        if self.lent is not None:
            self.lent += 1


class FillsGaps(Fault):
    """An array missing from the snapshot counts as empty."""

    caught_by = ("incomplete_snapshot_is_refused",)

    def _load(self, state: Any) -> None:
        try:
            super()._load(state)
        except KeyError:
            self.extra = 0


class TrustsItsState(Fault):
    """A number in the state is used as an index without a check."""

    caught_by = ("mutated_states_are_refused_or_work",)

    def __len__(self) -> int:
        return super().__len__() + (0,)[self.extra]


class TakesTwoThreads(Fault):
    """No thread is ever inside."""

    caught_by = ("second_thread_is_refused",)

    @property
    def _owner(self) -> int:
        return NO_THREAD

    @_owner.setter
    def _owner(self, owner: int) -> None:
        """Ignore it."""


class GoesOnHalfDone(Fault):
    """An interrupted call counts as completed."""

    caught_by = ("call_that_was_cut_short_is_the_last",)

    @property
    def _owner(self) -> int:
        owner = int(_OWNER.__get__(self))
        return NO_THREAD if owner == BROKEN else owner

    @_owner.setter
    def _owner(self, owner: int) -> None:
        _OWNER.__set__(self, owner)


class BornWithOne(Fault):
    """A new backend reports an item."""

    caught_by = ("new_backend_is_as_asked",)

    def __len__(self) -> int:
        return super().__len__() + 1


class WritesOverInput(Fault):
    """The caller's arrays are changed, even read-only ones."""

    caught_by = ("input_is_not_changed", "read_only_input_is_taken")

    def after_batch(self, arrays: list[Array]) -> None:
        for array in arrays:
            array += 1


class KeepsInput(Fault):
    """The caller's arrays are kept, not copied."""

    caught_by = ("input_is_not_kept",)
    kept: tuple[Array, ...] = ()

    def after_batch(self, arrays: list[Array]) -> None:
        self.kept += tuple(arrays)

    def _state(self) -> dict[str, Array]:
        self.extra = zlib.crc32(b"".join(array.tobytes() for array in self.kept))
        return super()._state()


class Leaks(Fault):
    """Every row leaves something behind."""

    caught_by = ("steady_stream_holds_steady_memory",)
    rows: int = 0

    def after_batch(self, arrays: list[Array]) -> None:
        self.rows += len(arrays[0])

    def __len__(self) -> int:
        return super().__len__() + self.rows


class Hoards(Fault):
    """Every row leaves something behind that neither `len` nor `nbytes` nor a snapshot shows."""

    caught_by = ("steady_stream_holds_steady_memory",)
    hoard: tuple[bytes, ...] = ()

    def after_batch(self, arrays: list[Array]) -> None:
        self.hoard += (bytes(16 * max(map(len, arrays))),)


FAULTS: tuple[type[Fault], ...] = (
    NumberedInstance,
    HashSeeded,
    CountsSnapshots,
    CountsBatches,
    CountsCalls,
    RestoresNothing,
    KeepsReadOnlyArrays,
    ReusesSnapshot,
    LendsItsState,
    FillsGaps,
    TrustsItsState,
    TakesTwoThreads,
    GoesOnHalfDone,
    BornWithOne,
    WritesOverInput,
    KeepsInput,
    Leaks,
    Hoards,
)


def faulty(info: BackendInfo, cls: type[Backend], into: dict[str, Any]) -> list[Mutant]:
    """A broken copy of `cls` for each fault, as mutants.

    The classes are also added to the module namespace `into`, where a fresh process finds them by name.
    """
    classes = [_with(fault, cls, into["__name__"]) for fault in FAULTS]
    into.update({mutant.__name__: mutant for mutant in classes})
    return [(info, mutant, fault.caught_by) for mutant, fault in zip(classes, FAULTS, strict=True)]


def _with(fault: type[Fault], cls: type[Backend], module: str) -> type[Backend]:
    inner = next(name for name in ("_update", "_append") if hasattr(cls, name))
    outer = inner.removeprefix("_")

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.before_call()
        return getattr(super(mutant, self), outer)(*args, **kwargs)

    def batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        answer = getattr(super(mutant, self), inner)(*args, **kwargs)
        self.after_batch(arrays_in(args, kwargs))
        return answer

    body = {"__module__": module, "__doc__": fault.__doc__, outer: call, inner: batch}
    mutant = type(fault.__name__, (fault, cls), body)
    return mutant
