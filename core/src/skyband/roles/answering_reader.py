"""AnsweringReader: what every reader of a backend's states has, and the questions that it answers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from skyband.arrays import Array


class AnsweringReader(ABC):
    """Reads one state of a backend as it lies in a snapshot, without making the backend.

    A plugin names it in `BackendInfo.reader`. It loads no compiled code, copies no array, and looks at each array
    before it relies on it (`skyband.state_validation.StateReader`): a state that contradicts itself raises
    SnapshotError. `questions` says what can be asked of such states.
    """

    questions: ClassVar[Sequence[str]] = ()
    """Each "package.module:Class" of a `skyband.states.question.Question`, loaded on use; the first is what
    `skyband ask` asks unless its options choose another."""

    object_ids: ClassVar[str | None] = None
    """The array with the ids of objects, of a state that holds their values beside it (`skyband.states.object_names`);
    None where it knows none."""

    finer: ClassVar[str] = ""
    """The backend to take for windows that begin between two multiples of `grain`, as `role/name`."""

    @abstractmethod
    def __init__(self, parameters: Mapping[str, Any], state: Mapping[str, Array]) -> None:
        """Raises SnapshotError where the state contradicts itself, ConfigError where the parameters are wrong."""

    @property
    @abstractmethod
    def latest(self) -> int | None:
        """The latest time seen, None before the first."""

    @property
    @abstractmethod
    def floor(self) -> int:
        """The state has forgotten what is older than this."""

    @property
    @abstractmethod
    def retained(self) -> int:
        """Items that the backend retains."""

    @property
    def grain(self) -> int:
        """Windows begin at multiples of this."""
        return 1

    @classmethod
    def bring_to(cls, backend: Any, at: int, since: int) -> None:  # noqa: ARG003 - most need nothing
        """What a backend united of several states forgets, so that it holds just the rows of [since, at)."""
        return
