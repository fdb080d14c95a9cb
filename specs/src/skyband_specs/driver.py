"""A driver, all that the common checks need to know of a role (one subclass a role), and a case of what it tries."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from attrs import frozen
from skyband import BackendInfo
from skyband.arrays import Int64
from skyband.config.parameters import build
from skyband.registry import revive
from skyband.roles import Backend

from skyband_specs.stream import Stream


class Driver(ABC):
    """Makes streams for a role, feeds them to a backend and asks it everything there is to ask.

    A driver holds no state, and everything it makes depends on its arguments only: the same in every process.
    """

    role: ClassVar[str]

    @abstractmethod
    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """The parameter sets every backend of the role is tried with, the plainest first.

        A key that the backend has no parameter for is dropped, then sets that become equal, and those without a
        parameter that it requires, which its plugin then gives by the hook `skyband_cases`.
        """

    @abstractmethod
    def tiny(self, case: "Case") -> Iterator[Stream]:
        """All short streams over a tiny alphabet, the empty one included, shortest first."""

    @abstractmethod
    def seeded(self, case: "Case", seed: int) -> Stream:
        """A longer random stream (a few hundred rows) with ties, bursts and boundaries."""

    @abstractmethod
    def steady(self, case: "Case") -> Stream:
        """A long stream whose valid content stays the same in size, so that a backend's memory should too."""

    def odd(self, case: "Case") -> Iterator[tuple[str, Stream]]:  # noqa: ARG002 - a subclass wants the case
        """Labelled streams of a few dozen rows at the ends of what the contract allows, and beside one another.

        Times and numbers at both ends of their types, or one unit in the last place apart; names alike in half of
        their bits. `expected` answers them as it does any stream. None unless a role gives some.
        """
        return iter(())

    def trials(self, case: "Case") -> "Iterable[Trial]":  # noqa: ARG002
        """Large experiments with a fast oracle each, well past every size at which a backend may change its way.

        None unless a role gives some. Where `case.long` they may take minutes.
        """
        return ()

    def acts(self, case: "Case", stream: Any, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:  # noqa: ARG002
        """Labelled calls other than feeding that are allowed after `stop` rows and change what is retained.

        Such as to advance, forget or evict; the rest of the stream can still be fed after each, and `answers` asks
        after each what may then be asked. None unless a role gives some.
        """
        return ()

    @abstractmethod
    def feed(self, backend: Any, stream: Any, start: int, stop: int) -> None:
        """Give the backend rows start..stop of the stream as one batch, by its public methods only."""

    @abstractmethod
    def answers(self, backend: Any, stream: Any, stop: int) -> Any:
        """All that can be asked of the backend after `stop` rows, as plain data that `==` compares.

        Numbers, text, None, and lists and tuples of them: no array, and None in place of NaN, which equals nothing.
        """

    @abstractmethod
    def expected(self, case: "Case", stream: Any, stop: int) -> Any:
        """What `answers` must be, by the oracle."""

    def same(self, case: "Case", got: Any, expected: Any) -> bool:  # noqa: ARG002 - a subclass may want the case
        """Whether an exact backend's answers are right. Override only where the definition is real-valued."""
        return bool(got == expected)

    @abstractmethod
    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Labelled calls that break the role's contract; each must raise InputError and change nothing.

        The backend has been fed a seeded stream; calls are made in turn on the same backend.
        """


class Trial(ABC):
    """A large experiment: a backend with parameters of its own, a stream, and its answers by an oracle that is fast."""

    label: str
    parameters: Mapping[str, Any]
    """What it changes of the case's parameters."""
    stream: Any

    @property
    @abstractmethod
    def stops(self) -> Sequence[int]:
        """The numbers of rows, ascending, after which it is asked; the last is the whole stream."""

    @abstractmethod
    def feed(self, backend: Any, start: int, stop: int) -> None:
        """Give the backend rows start..stop as one batch."""

    @abstractmethod
    def answers(self, backend: Any, stop: int) -> Any:
        """What is asked after `stop` rows."""

    @abstractmethod
    def expected(self, stop: int) -> Any:
        """What the answers must be."""

    def same(self, got: Any, expected: Any) -> bool:
        """Whether an exact backend's answers are right."""
        return bool(got == expected)


@frozen(eq=False)
class Case:
    """A backend under test: what its plugin says of it, its class, and the parameters it is tried with.

    The class is given, not looked up, so that one that is not installed can be tried too. `first`: it is the first
    parameter set, tried on every tiny stream; the others are tried on a sample. `long`: take every one, and longer
    streams, whatever it costs.
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
        """The backend a snapshot was taken of, as `skyband.restore` would bring it back."""
        return revive(self.factory, blob)

    def has(self, capability: str) -> bool:
        """Whether the backend declares this capability."""
        return capability not in self.info.lacks

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.info.key}({parameters})"


def advances(case: Case, times: Int64, stop: int, span: int) -> list[tuple[str, Callable[[Any], Any]]]:
    """`acts` of a ranker: to advance to the row after `stop`, or by `span` past the last, when all has expired."""
    if case.parameters.get("by") == "rows" or not len(times):
        return []
    ended = stop == len(times)
    moment = int(times[-1]) + span if ended else int(times[stop])
    label = "advancing until all has expired" if ended else "advancing to the next row"
    return [(label, lambda backend: backend.advance(moment))]
