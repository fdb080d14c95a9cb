"""A backend belongs to one thread at a time, is unusable after an interrupted call, and reports both."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from inspect import Parameter, signature
from types import FunctionType
from typing import Any

import numpy as np
from attrs import define, field
from skyband import BrokenError, BusyError
from skyband.arrays import Array

from skyband_specs.batching import fed, visible
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.driver import Case

COUNT = 2

_PATIENCE = 120
"""Seconds after which a thread has failed to arrive."""


@define(eq=False)
class _Gate:
    """Wraps a backend; the first array passed to it is read only when the gate opens."""

    backend: Any
    reached: threading.Event = field(factory=threading.Event)
    opened: threading.Event = field(factory=threading.Event)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.backend, name)
        return self._held_up(value) if callable(value) else value

    def _held_up(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            first = next((i for i, argument in enumerate(arguments) if isinstance(argument, np.ndarray)), None)
            if first is not None:
                arguments = (*arguments[:first], _SlowArray(arguments[first], self), *arguments[first + 1 :])
            return method(*arguments, **named)

        return call


@define(eq=False)
class _SlowArray:
    """An array that can be read once the gate is open."""

    values: Array
    gate: _Gate

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        self.gate.reached.set()
        expect(self.gate.opened.wait(_PATIENCE), "the gate was never opened")
        return np.array(self.values, dtype)


@check("bad-input", once=True)
def check_second_thread_is_refused(make: Make, case: Case) -> None:
    """While a call of one thread runs in a backend, calls of another raise BusyError and change nothing."""
    stream = case.driver.seeded(case, 1)
    half, end = len(stream) // 2, len(stream)
    backend = make()
    case.driver.feed(backend, stream, 0, half)
    gate = _Gate(backend)
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("len", lambda: len(backend)),
        ("an answer", lambda: case.driver.answers(backend, stream, half)),
        ("rows", lambda: case.driver.feed(backend, stream, half, end)),
    ]
    if case.has("snapshot"):
        calls.append(("a snapshot", backend.snapshot))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(case.driver.feed, gate, stream, half, end)
        try:
            expect(gate.reached.wait(_PATIENCE), "the backend never read its input")
            for label, call in calls:
                _refused(label, call)
        finally:
            gate.opened.set()
        first.result(_PATIENCE)
    expected = visible(case, fed(make, case, stream, [half]), stream, end)
    expect_equal(visible(case, backend, stream, end), expected, "after refused calls of another thread")


def _refused(label: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except BusyError:
        return
    raise AssertionError(f"{label} for a second thread was returned; it must raise BusyError")


@define(eq=False)
class _Interrupting:
    """Wraps a backend; reading the first array passed to it raises an interrupt."""

    backend: Any

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.backend, name)
        return self._interrupted(value) if callable(value) else value

    def _interrupted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            first = next((i for i, argument in enumerate(arguments) if isinstance(argument, np.ndarray)), None)
            if first is not None:
                arguments = (*arguments[:first], _InterruptingArray(), *arguments[first + 1 :])
            return method(*arguments, **named)

        return call


class _InterruptingArray:
    """An array that is interrupted by Ctrl-C while it is read."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        raise KeyboardInterrupt


@check("bad-input", once=True)
def check_call_that_was_cut_short_is_the_last(make: Make, case: Case) -> None:
    """After a call interrupted by Ctrl-C, public methods raise BrokenError, so that no compiled code runs on it."""
    stream = case.driver.seeded(case, 1)
    half, end = len(stream) // 2, len(stream)
    backend = make()
    case.driver.feed(backend, stream, 0, half)
    try:
        case.driver.feed(_Interrupting(backend), stream, half, end)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("the backend never read its input")
    for name in _public_methods(type(backend)):
        _is_refused(backend, name)


def _public_methods(cls: type) -> list[str]:
    names = (name for name in dir(cls) if not name.startswith("_") or name == "__len__")
    return [name for name in names if isinstance(getattr(cls, name), FunctionType) and name != "parameters"]


def _is_refused(backend: Any, name: str) -> None:
    method = getattr(backend, name)
    required = [
        parameter
        for parameter in signature(method).parameters.values()
        if parameter.default is Parameter.empty
        and parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    ]
    places = [None for parameter in required if parameter.kind is not Parameter.KEYWORD_ONLY]
    named = {parameter.name: None for parameter in required if parameter.kind is Parameter.KEYWORD_ONLY}
    try:
        method(*places, **named)
    except BrokenError:
        return
    except Exception as error:
        message = f"{name} raised {error!r} after a call was interrupted; it must raise BrokenError"
        raise AssertionError(message) from error
    raise AssertionError(f"{name} returned after a call was interrupted; it must raise BrokenError")
