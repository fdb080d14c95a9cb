"""AnsweringReader: the interface of readers of a backend's states, and the questions each answers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from skyband.arrays import Array


class AnsweringReader(ABC):
    """Reads one state of a backend from its snapshot, without building the backend.

    A plugin names it in `BackendInfo.reader`. It loads no compiled code, copies no array, and validates each array
    before use (`skyband.state_validation.StateReader`): a state that contradicts itself raises SnapshotError.
    `questions` lists what can be asked of such states.
    """

    questions: ClassVar[Sequence[str]] = ()
    """Each `skyband.states.question.Question` as "package.module:Class", loaded on use; `skyband ask` asks the first,
    its options choose another."""

    object_ids: ClassVar[str | None] = None
    """The array of object ids, for a state that holds the objects' values too (`skyband.states.object_names`); None if
    it knows no objects."""

    finer: ClassVar[str] = ""
    """The backend to use for windows that begin between two multiples of `grain`, as `role/name`."""

    @abstractmethod
    def __init__(self, parameters: Mapping[str, Any], state: Mapping[str, Array]) -> None:
        """Raises SnapshotError if the state contradicts itself, ConfigError if the parameters are wrong."""

    @property
    @abstractmethod
    def latest(self) -> int | None:
        """The latest time seen; None before the first row."""

    @property
    @abstractmethod
    def floor(self) -> int:
        """The earliest time that the state still remembers."""

    @property
    @abstractmethod
    def retained(self) -> int:
        """The number of items that the backend retains."""

    @property
    def grain(self) -> int:
        """Windows must begin at multiples of this."""
        return 1

    @classmethod
    def bring_to(cls, backend: Any, at: int, since: int) -> None:  # noqa: ARG003 - most need nothing
        """Make a backend united from several states forget all rows outside of [since, at)."""
        return
