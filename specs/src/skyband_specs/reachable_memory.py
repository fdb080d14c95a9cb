"""What a backend weighs, whether it says so or not: everything that can be reached from it."""

import gc
import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher

_SHARED = (type, ModuleType, FunctionType, MethodType, CFunc, Dispatcher)
"""What a backend refers to without owning it; from a compiled function one gets to all others."""


def weight(backend: Any) -> int:
    """Bytes of all objects and arrays that `backend` holds, those it shares with classes and modules left out.

    O(objects). What compiled code keeps to itself cannot be seen.
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
