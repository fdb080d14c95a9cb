"""Counterexamples: the shortest failing stream found, printed as code to paste."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from skyband_specs.call_recorder import Border
from skyband_specs.check import shortened
from skyband_specs.driver import Case
from skyband_specs.stream import Stream

ATTEMPTS = 500
SECONDS = 5.0
"""Limits on the search for a shorter stream, in attempts and in seconds of this thread."""

Law = Callable[[Any], None]


class Shortened(Protocol):
    """Rows of which a subset can be taken: a Stream, or similar."""

    def __len__(self) -> int: ...

    def take(self, rows: npt.NDArray[np.int64]) -> Self: ...


T = TypeVar("T", bound=Shortened)


class Counterexample(AssertionError):  # noqa: N818 - the word is the field's
    """A stream that breaks a law: the reason, and `snippet`, code that reproduces it."""

    def __init__(self, reason: str, snippet: str) -> None:
        self.reason = reason
        self.snippet = snippet
        super().__init__(f"{reason}\n{snippet}")


def holds_for(case: Case, streams: Iterable[Stream], law: Law) -> None:
    """Try `law(stream)` on each; the first stream that raises is shortened and raised as a Counterexample."""
    for stream in streams:
        error = _failure(law, stream)
        if error is not None:
            shortest = shrink(stream, partial(_fails_alike, law, type(error)))
            failure = _failure(law, shortest) or error
            raise Counterexample(_reason(failure), snippet(case, shortest)) from failure


def shrink(stream: T, fails: Callable[[T], bool], seconds: float = SECONDS) -> T:
    """A shorter stream that still fails: drops blocks of rows, half as long each round, while it does."""
    give_up = time.thread_time() + seconds
    attempts = 0
    size = len(stream)
    while size >= 1:
        start, before = 0, len(stream)
        while start < len(stream):
            if attempts >= ATTEMPTS or time.thread_time() > give_up:
                return stream
            attempts += 1
            shorter = stream.take(np.delete(np.arange(len(stream)), slice(start, start + size)))
            if fails(shorter):
                stream = shorter
            else:
                start += size
        if size > 1 or len(stream) == before:
            size //= 2
    return stream


def snippet(case: Case, stream: Stream) -> str:
    """Python code that creates the case's backend and feeds it the stream, from the calls that its driver makes."""
    parameters = "".join(f", {name}={value!r}" for name, value in case.parameters.items())
    create = f'backend = skyband.create("{case.info.role}", "{case.info.name}"{parameters})'
    calls: list[str] = []

    def write_down(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        parameters = [_code(arg) for arg in args] + [f"{key}={_code(arg)}" for key, arg in kwargs.items()]
        calls.append(f"backend.{name}({', '.join(parameters)})")

    backend = Border(case.make(), before=write_down)
    _failure(lambda rows: case.driver.feed(backend, rows, 0, len(rows)), stream)
    return "\n".join(["import numpy as np, skyband", create, *calls])


def _code(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f'np.array({value.tolist()}, "{value.dtype.name}")'
    return repr(value.item() if isinstance(value, np.generic) else value)


def _failure(law: Law, stream: Stream) -> Exception | None:
    try:
        law(stream)
    except Exception as error:  # a crash fails the check too
        return error
    return None


def _fails_alike(law: Law, kind: type[Exception], stream: Stream) -> bool:
    return isinstance(_failure(law, stream), kind)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {shortened(str(error))}"
