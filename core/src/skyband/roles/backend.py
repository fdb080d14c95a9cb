"""What every backend can do, whatever its role."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from attrs import define, field

from skyband import snapshot
from skyband.arrays import Array
from skyband.config.parameters import Named
from skyband.errors import InputError, SnapshotError
from skyband.roles.thread_guard import NOBODY, guard


@define(eq=False)
class Backend(Named, ABC):
    """One way of doing a role: an attrs class whose init fields are its parameters.

    A role's public methods check their arguments and then call the method of the same name with an
    underscore, which is what a backend writes: its arguments are contiguous arrays of the right dtype and
    keep the role's contract. State lives in fields with `init=False`. A public method that is called while another
    thread is inside the backend raises BusyError; after a call that ended by another exception than InputError, such
    as Ctrl-C, every call raises BrokenError.
    """

    role: ClassVar[str]
    """What it does; the role's interface says it, as `RoleInfo.name` does."""

    name: ClassVar[str]
    """What it is called; the same as `BackendInfo.name`."""

    _owner: int = field(default=NOBODY, init=False, repr=False)
    """The thread whose call runs."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        guard(cls)

    @abstractmethod
    def __len__(self) -> int:
        """Items retained: the papers' measure of memory."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of state."""

    @abstractmethod
    def _state(self) -> dict[str, Array]:
        """The whole state as flat arrays, in one canonical form however the input was cut into batches."""

    @abstractmethod
    def _load(self, state: Mapping[str, Array]) -> None:
        """Take over a state from `_state`. Called once, on a fresh backend; the arrays are read-only.

        A checksum tells accidents, not intent: read the arrays through `skyband.state_validation.StateReader`, so that
        compiled code is never given an index that leads nowhere.
        """

    def parameters(self) -> dict[str, Any]:
        """The values of the init fields."""
        return {field.name: getattr(self, field.name) for field in attrs.fields(type(self)) if field.init}

    def snapshot(self) -> bytes:
        """The backend as bytes, back through `skyband.restore`. Equal parameters and input give equal bytes."""
        header = {"role": self.role, "name": self.name, "parameters": self.parameters()}
        return snapshot.encode(header, self._state())

    def dump_state(self) -> dict[str, Array]:
        """The state alone, for `load_state`: small and quick, where many backends have the same parameters."""
        return self._state()

    def load_state(self, state: Mapping[str, Array]) -> None:
        """Take over what `dump_state` gave: called on a fresh backend with the same parameters.

        Raises SnapshotError where the state is of another version, or of other parameters.
        """
        try:
            self._load(state)
        except SnapshotError as error:
            raise SnapshotError(f"of {self.role}/{self.name}: {error}") from error
        except InputError as error:  # what a role's own checks say of what the state holds
            raise SnapshotError(f"of {self.role}/{self.name}: contradicts itself: {error}") from error
        except Exception as error:  # what a backend makes of a state that another version wrote is anyone's guess
            message = f"{type(error).__name__}: {error}"
            raise SnapshotError(f"of {self.role}/{self.name} does not fit the installed version: {message}") from error

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.snapshot() == other.snapshot()

    __hash__ = None  # type: ignore[assignment]


guard(Backend)
