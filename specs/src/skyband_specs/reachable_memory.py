"""Measures the memory of a backend, whatever it reports: everything reachable from it."""

import gc
import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher

_SHARED = (type, ModuleType, FunctionType, MethodType, CFunc, Dispatcher)
"""What a backend refers to without owning it; a compiled function leads to all others."""


def weight(backend: Any) -> int:
    """Bytes of all objects and arrays that `backend` holds, except those shared with classes and modules.

    O(objects). Memory inside compiled code is not visible.
    """
    counted: dict[int, Any] = {}
    stack = [backend]
    total = 0
    while stack:
        one = stack.pop()
        if id(one) in counted or isinstance(one, _SHARED):
            continue
        counted[id(one)] = one
        total += sys.getsizeof(one)
        stack += [one.base] if isinstance(one, np.ndarray) and one.base is not None else gc.get_referents(one)
    return total
