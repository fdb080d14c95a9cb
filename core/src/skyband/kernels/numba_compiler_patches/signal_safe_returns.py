"""Creates return values of kernels without running Python, so that a signal never ends the process.

numba unpickles the class of each array and NamedTuple that it returns by a Python function, and calls the latter's
`__new__`, which is also Python. A signal that arrived while the kernel ran is handled there: its handler raises,
numba ignores the error, and continues with a missing value. Here both are created in C, from the kernel's own
references, and the signal is handled after the kernel has returned.
"""

from typing import Any

from numba.core import boxing, pythonapi
from numba.core import types as numba_types

types: Any = numba_types
"""numba's types; mypy knows only half of its classes."""

_NAMED = types.NamedTuple, types.NamedUniTuple
_usual_array, _usual_named = boxing.box_array, boxing.box_namedtuple
_boxes = pythonapi._boxers.functions
"""Accessed on import, so that a numba without them is noticed before anything is replaced."""


def install() -> None:
    """Make numba create them so, in all kernels that this process compiles from now on."""
    _boxes[types.Array] = _array
    for kind in _NAMED:
        _boxes[kind] = _named


def _array(kind: Any, value: Any, context: Any) -> Any:
    """numba's way, except for the class."""
    api, cls = context.pyapi, _constant(context, kind.box_type)
    api.unserialize = lambda _: cls
    try:
        return _usual_array(kind, value, context)
    finally:
        del api.unserialize


def _named(kind: Any, value: Any, context: Any) -> Any:
    cls = kind.instance_class
    if cls.__new__.__module__ != f"namedtuple_{cls.__name__}":  # its author's own code, which must run
        return _usual_named(kind, value, context)
    make, named = _constant(context, tuple.__new__), _constant(context, cls)
    parts = boxing.box_tuple(kind, value, context)
    whole = context.pyapi.call_function_objargs(make, (named, parts))
    context.pyapi.decref(parts)
    return whole


def _constant(context: Any, value: Any) -> Any:
    """The kernel's own reference to an object, borrowed."""
    constants = context.env_manager
    return constants.read_const(constants.add_const(value))
