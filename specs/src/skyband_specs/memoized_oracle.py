"""Caches the answers of oracles: the backends of a role are asked the same, and plain Python is slow."""

import hashlib
import pickle
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from skyband_specs.stream import Stream

MOST = 1 << 14
"""The most answers of one oracle in memory, the latest."""

P = ParamSpec("P")
T = TypeVar("T")


def answer_once(definition: Callable[P, T]) -> Callable[P, T]:
    """Cache a function's results within this process.

    A question is identified by its content: streams, arrays and plain data. If it contains something that cannot be
    pickled, such as a lambda, it is computed each time. Callers must not change the answer.
    """
    memory: dict[bytes, T] = {}

    @wraps(definition)
    def answer(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            question = digest((args, sorted(kwargs.items())))
        except (pickle.PicklingError, AttributeError, TypeError):
            return definition(*args, **kwargs)
        if question not in memory:
            if len(memory) >= MOST:
                del memory[next(iter(memory))]
            memory[question] = definition(*args, **kwargs)
        return memory[question]

    return answer


def digest(value: object) -> bytes:
    """A hash of the content of plain data, arrays and streams. Raises where something cannot be pickled."""
    return hashlib.blake2b(pickle.dumps(_plain(value)), digest_size=16).digest()


def _plain(value: object) -> object:
    """A compact form for pickling: hundreds of small arrays as one."""
    if isinstance(value, Stream):
        return type(value), [_plain(column) for column in value.columns().values()]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if not isinstance(value, tuple | list):
        return value
    if len(value) > 1 and all(isinstance(part, np.ndarray) and part.ndim == 1 for part in value):
        types = {part.dtype for part in value}
        if len(types) == 1 and not types & {np.dtype(object)}:
            return type(value), [len(part) for part in value], types.pop().str, np.concatenate(value).tobytes()
    return type(value), [_plain(part) for part in value]
