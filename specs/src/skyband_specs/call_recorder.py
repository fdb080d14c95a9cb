"""Wraps a backend to record every call of a public method with its arguments."""

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from skyband.arrays import Array

Call = Callable[[str, tuple[Any, ...], dict[str, Any]], None]
OnReturn = Callable[[Any], None]


class Border:
    """Wraps a backend; `before` and `after` are called for each call, as (method, args, kwargs).

    `on_return` is called with each result, last of all.
    """

    def __init__(
        self, backend: Any, before: Call | None = None, after: Call | None = None, on_return: OnReturn | None = None
    ) -> None:
        self._backend = backend
        self._before = before
        self._after = after
        self._on_return = on_return

    def __len__(self) -> int:
        return len(self._backend)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # not a public method, but one of Python's, such as for copying
            raise AttributeError(name)
        value = getattr(self._backend, name)
        if not callable(value):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._before is not None:
                self._before(name, args, kwargs)
            answer = value(*args, **kwargs)
            if self._after is not None:
                self._after(name, args, kwargs)
            if self._on_return is not None:
                self._on_return(answer)
            return answer

        return call


def arrays_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Array]:
    """The numpy arrays among a call's arguments."""
    return [value for value in (*args, *kwargs.values()) if isinstance(value, np.ndarray)]


def arrays_of(answer: Any) -> list[Array]:
    """The numpy arrays in a result: itself, or in tuples, lists and the fields of records."""
    if isinstance(answer, np.ndarray):
        return [answer]
    if isinstance(answer, list | tuple) or (isinstance(answer, Sequence) and not isinstance(answer, str | bytes)):
        return [array for part in answer for array in arrays_of(part)]
    if attrs.has(type(answer)):
        return [array for part in attrs.fields(type(answer)) for array in arrays_of(getattr(answer, part.name))]
    return []
