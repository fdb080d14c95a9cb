"""A driver, which tells the common checks about a role, and a case, a backend with parameters to try."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from attrs import field, frozen
from skyband import BackendInfo
from skyband.arrays import Int64
from skyband.config.parameters import build
from skyband.registry import revive
from skyband.roles import Backend

from skyband_specs.stream import Stream


class Driver(ABC):
    """Makes streams for a role, feeds them to a backend, and asks it every possible question.

    A driver has no state, and everything it makes depends only on its arguments: it is the same in every process.
    """

    role: ClassVar[str]

    @abstractmethod
    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """The parameter sets that every backend of the role is tried with, the simplest first.

        Keys that are not parameters of the backend are dropped, then duplicate sets and sets without a required
        parameter, which its plugin then provides with the hook `skyband_cases`.
        """

    @abstractmethod
    def tiny(self, case: "Case") -> Iterator[Stream]:
        """All short streams over a tiny alphabet, the empty one included, shortest first."""

    @abstractmethod
    def seeded(self, case: "Case", seed: int) -> Stream:
        """A longer random stream (a few hundred rows) with ties, bursts and boundaries."""

    @abstractmethod
    def steady(self, case: "Case") -> Stream:
        """A long stream whose valid content has a constant size, so that a backend's memory should too."""

    def odd(self, case: "Case") -> Iterator[tuple[str, Stream]]:  # noqa: ARG002 - a subclass may use the case
        """Labelled streams of a few dozen rows at the limits of the contract, and close to each other.

        Times and numbers at both ends of their types, or one unit in the last place apart; names with half of the bits
        equal. `expected` answers them like any stream. None unless a role provides some.
        """
        return iter(())

    def trials(self, case: "Case") -> "Iterable[Trial]":  # noqa: ARG002
        """Large experiments, each with a fast oracle, past every size at which a backend may change its method.

        None unless a role provides some. If `case.long` they may take minutes.
        """
        return ()

    def acts(self, case: "Case", stream: Any, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:  # noqa: ARG002
        """Labelled calls other than feeding that are allowed after `stop` rows and change what is retained.

        For example advance, forget or evict; the rest of the stream can still be fed afterwards, and `answers` asks
        what may be asked then. None unless a role provides some.
        """
        return ()

    @abstractmethod
    def feed(self, backend: Any, stream: Any, start: int, stop: int) -> None:
        """Give the backend rows start..stop of the stream as one batch, using only its public methods."""

    @abstractmethod
    def answers(self, backend: Any, stream: Any, stop: int) -> Any:
        """Everything that can be asked of the backend after `stop` rows, as plain data that `==` compares.

        Numbers, text, None, and lists and tuples of them: no arrays, and None instead of NaN, which equals nothing.
        """

    @abstractmethod
    def expected(self, case: "Case", stream: Any, stop: int) -> Any:
        """What `answers` must be, according to the oracle."""

    def same(self, case: "Case", got: Any, expected: Any) -> bool:  # noqa: ARG002 - a subclass may use the case
        """Whether an exact backend's answers are right. Override only if the definition is real-valued."""
        return bool(got == expected)

    @abstractmethod
    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Labelled calls that break the role's contract; each must raise InputError and change nothing.

        The backend has been fed a seeded stream; the calls are made one after the other on the same backend.
        """


@frozen(eq=False)
class Trial(ABC):
    """A large experiment: a backend with its own parameters, a stream, and its answers from a fast oracle."""

    label: str
    parameters: Mapping[str, Any]
    """Changes to the case's parameters."""
    stream: Any
    _found: dict[int, Any] = field(factory=dict, init=False)

    @property
    def stops(self) -> Sequence[int]:
        """The numbers of rows, ascending, after which it is queried; the last is the whole stream."""
        return [7, *(len(self.stream) * part // 4 for part in range(1, 5))]

    @abstractmethod
    def feed(self, backend: Any, start: int, stop: int) -> None:
        """Give the backend rows start..stop as one batch."""

    @abstractmethod
    def answers(self, backend: Any, stop: int) -> Any:
        """What is asked after `stop` rows."""

    def expected(self, stop: int) -> Any:
        """What the answers must be, computed once."""
        if stop not in self._found:
            self._found[stop] = self.by_definition(stop)
        return self._found[stop]

    @abstractmethod
    def by_definition(self, stop: int) -> Any:
        """What the answers must be after `stop` rows."""

    def same(self, got: Any, expected: Any) -> bool:
        """Whether an exact backend's answers are right."""
        return bool(got == expected)


@frozen(eq=False)
class Case:
    """A backend under test: its plugin's description, its class, and the parameters to try.

    The class is passed, not looked up, so that a backend that is not installed can be tried too. `first`: the first
    parameter set, tried on every tiny stream; the others are tried on a sample. `long`: try all, and longer streams,
    whatever it costs.
    """

    info: BackendInfo
    factory: type[Backend]
    driver: Driver
    parameters: Mapping[str, Any]
    first: bool = True
    long: bool = False

    def make(self, **overrides: Any) -> Any:
        """A fresh backend."""
        return build(self.factory, {**self.parameters, **overrides})

    def restore(self, blob: bytes) -> Any:
        """The backend of a snapshot, as `skyband.restore` would restore it."""
        return revive(self.factory, blob)

    def has(self, capability: str) -> bool:
        """Whether the backend declares this capability."""
        return capability not in self.info.lacks

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.info.key}({parameters})"


def advances(case: Case, times: Int64, stop: int, span: int) -> list[tuple[str, Callable[[Any], Any]]]:
    """`acts` of a ranker: to advance to the row after `stop`, or by `span` past the last row, when all has expired."""
    if case.parameters.get("by") == "rows" or not len(times):
        return []
    ended = stop == len(times)
    moment = int(times[-1]) + span if ended else int(times[stop])
    label = "advancing until all has expired" if ended else "advancing to the next row"
    return [(label, lambda backend: backend.advance(moment))]
