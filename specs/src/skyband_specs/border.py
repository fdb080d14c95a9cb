"""Standing at a backend's border: every call of a public method is seen with its arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np
from skyband.arrays import Array

Call = Callable[[str, tuple[Any, ...], dict[str, Any]], None]


class Border:
    """Stands before a backend; `before` and `after` see each call that goes through, as (method, args, kwargs)."""

    def __init__(self, backend: Any, before: Call | None = None, after: Call | None = None) -> None:
        self._backend = backend
        self._before = before
        self._after = after

    def __len__(self) -> int:
        return len(self._backend)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._backend, name)
        if not callable(value):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._before is not None:
                self._before(name, args, kwargs)
            answer = value(*args, **kwargs)
            if self._after is not None:
                self._after(name, args, kwargs)
            return answer

        return call


def arrays_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Array]:
    """The numpy arrays among a call's arguments."""
    return [value for value in (*args, *kwargs.values()) if isinstance(value, np.ndarray)]
