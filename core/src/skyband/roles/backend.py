"""Backend: the base class of all backends, whatever their role."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from attrs import define, field

from skyband import snapshot
from skyband.arrays import Array
from skyband.config.parameters import Named
from skyband.errors import InputError, SnapshotError
from skyband.roles.thread_guard import NO_THREAD, guard


@define(eq=False)
class Backend(Named, ABC):
    """An implementation of a role: an attrs class whose init fields are its parameters.

    A role's public methods check their arguments and then call the method of the same name with an underscore.
    Backends implement those: the arguments are contiguous arrays of the right dtype that satisfy the role's contract.
    State lives in fields with `init=False`. A public method called while another thread is inside the backend raises
    BusyError. After a call that ended with any exception except InputError, such as Ctrl-C, every call raises
    BrokenError.
    """

    role: ClassVar[str]
    """Its role, the same as `RoleInfo.name`; the role's interface sets it."""

    name: ClassVar[str]
    """Its name, the same as `BackendInfo.name`."""

    _owner: int = field(default=NO_THREAD, init=False, repr=False)
    """The thread whose call is running."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        guard(cls)

    @abstractmethod
    def __len__(self) -> int:
        """The number of items retained: the papers' measure of memory."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The bytes of state."""

    @abstractmethod
    def _state(self) -> dict[str, Array]:
        """The whole state as flat arrays, in one canonical form for any split of the input into batches."""

    @abstractmethod
    def _load(self, state: Mapping[str, Array]) -> None:
        """Load a state from `_state`. Called once, on a fresh backend; the arrays are read-only.

        A checksum detects accidents, not intent: read the arrays through `skyband.state_validation.StateReader`, so
        that compiled code never gets an index out of range.
        """

    def parameters(self) -> dict[str, Any]:
        """The values of the init fields."""
        return {field.name: getattr(self, field.name) for field in attrs.fields(type(self)) if field.init}

    def _check_alike(self, other: Any) -> None:
        """Raise InputError unless `other`, to be merged with, has the same class and equal parameters."""
        if type(self) is not type(other):
            raise InputError("other", f"must be a {type(self).__name__} (got {type(other).__name__})")
        others, whose = other.parameters(), self.role.rpartition("-")[2]
        for name, value in self.parameters().items():
            if others[name] != value:
                raise InputError("other", f"has {name} = {others[name]!r}, this {whose} {value!r}; they must be equal")

    def snapshot(self) -> bytes:
        """The backend as bytes, for `skyband.restore`. Equal parameters and input give equal bytes."""
        header = {"role": self.role, "name": self.name, "parameters": self.parameters()}
        return snapshot.encode(header, self._state())

    def dump_state(self) -> dict[str, Array]:
        """The state alone, for `load_state`: small and fast, for many backends with the same parameters."""
        return self._state()

    def load_state(self, state: Mapping[str, Array]) -> None:
        """Load the result of `dump_state` into a fresh backend with the same parameters.

        Raises SnapshotError if the state is from another version, or for other parameters.
        """
        try:
            self._load(state)
        except SnapshotError as error:
            raise SnapshotError(f"of {self.role}/{self.name}: {error}") from error
        except InputError as error:  # from the role's own checks of the state
            raise SnapshotError(f"of {self.role}/{self.name}: contradicts itself: {error}") from error
        except Exception as error:  # a state from another version may raise anything
            message = f"{type(error).__name__}: {error}"
            raise SnapshotError(f"of {self.role}/{self.name} does not fit the installed version: {message}") from error

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.snapshot() == other.snapshot()

    __hash__ = None  # type: ignore[assignment]


guard(Backend)
