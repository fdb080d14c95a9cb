"""Guards a backend's calls: one thread at a time, and none after a call was cut short.

Compiled code works on a backend's arrays in place and without Python's lock: two threads in one backend would give
wrong answers or kill the process. Waiting would hide the mistake, so the second call fails at once. Likewise, Ctrl-C
or any error except InputError may end a call half-way: what the arrays then hold must not be used. InputError leaves a
backend unchanged.
"""

from _thread import get_ident
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, wraps
from inspect import Parameter, signature
from types import CodeType, FunctionType
from typing import Any, NoReturn

from skyband.errors import BrokenError, BusyError, ConfigError, InputError

_UNGUARDED = {"parameters"}
"""Public methods that read nothing mutable."""

_CHECKED_FIRST = {"reconfigure"}
"""Methods that raise ConfigError, too, only before anything has changed."""

REMEDY = "restore an earlier snapshot, or make a new one and add the rows again"

NO_THREAD = 0
"""`_owner` of a backend that no thread is using: no thread has this number."""

BROKEN = -1
"""`_owner` of a backend after a call was cut short: all calls fail."""

_TEMPLATE = """
def guarded({declared}):
    me = get_ident()
    owner = self._owner
    if owner:
        if owner == me:
            return method({given})
        refuse(self, method)
    try:
        own(self, me)
        answer = method({given})
    except refusals:
        own(self, 0)
        raise
    except BaseException:
        own(self, -1)
        raise
    own(self, 0)
    return answer
"""
"""No Python is called between reading and writing the owner, so that no thread can intervene under Python's lock:
`own` sets the slot directly, which is also ten times as fast as attrs' way of setting fields.

Generated for each parameter list: passing on arbitrary arguments (`*arguments`) would cost more than everything else.
"""


def guard(cls: type) -> None:
    """Make the public methods that `cls` defines raise BusyError in a second thread, and BrokenError after a call was
    cut short. Costs about 100 ns per call."""
    for name, method in list(vars(cls).items()):
        public = name == "__len__" or not (name.startswith("_") or name in _UNGUARDED)
        if not public or not isinstance(method, FunctionType):
            continue
        inside: Any = getattr(method, "_guarded", None)
        if inside is None:
            setattr(cls, name, _guarded(method, _slot(cls).__set__))
        else:
            _belong(inside, cls)


@contextmanager
def inside(backend: Any) -> Iterator[None]:
    """Block other threads while a method of another backend uses this one (as `merge` uses its argument)."""
    me = get_ident()
    owner = backend._owner
    if owner not in (NO_THREAD, me):
        refuse(backend, inside)
    after = BROKEN
    try:
        backend._owner = me
        yield
        after = owner
    except InputError:
        after = owner
        raise
    finally:
        backend._owner = after


@contextmanager
def inside_all(backends: Sequence[Any]) -> Iterator[None]:
    """As `inside`, for different backends of one class that one call works on."""
    me, own = get_ident(), _slot(type(backends[0])).__set__
    for backend in backends:
        if backend._owner:
            refuse(backend, inside_all)
    after = BROKEN
    try:
        for backend in backends:
            own(backend, me)
        yield
        after = NO_THREAD
    except InputError:
        after = NO_THREAD
        raise
    finally:
        for backend in backends:
            own(backend, after)


def refuse(backend: Any, method: Callable[..., Any]) -> NoReturn:
    """Raise BrokenError or BusyError for a call of `method`."""
    if backend._owner == BROKEN:
        message = f"{backend.role}/{backend.name}: {method.__name__} was called after a call was cut short"
        raise BrokenError(f"{message}: {REMEDY}")
    message = f"{backend.role}/{backend.name}: {method.__name__} was called while another thread is inside this backend"
    raise BusyError(f"{message}: give each thread its own backend, or share a lock")


def _slot(cls: type) -> Any:
    """The slot that holds a backend's `_owner`."""
    return next(vars(base)["_owner"] for base in cls.__mro__ if "_owner" in vars(base))


def _guarded(method: FunctionType, own: Callable[[Any, int], None]) -> FunctionType:
    names = {"get_ident": get_ident, "method": method, "refuse": refuse, "own": own}
    names["refusals"] = (InputError, ConfigError) if method.__name__ in _CHECKED_FIRST else InputError
    guarded = FunctionType(_code(*_calls(method)), names, method.__name__, method.__defaults__)
    guarded.__kwdefaults__ = method.__kwdefaults__
    wraps(method)(guarded)
    guarded._guarded = method  # type: ignore[attr-defined]
    return guarded


def _calls(method: FunctionType) -> tuple[str, str]:
    """The parameters of a method as declared, and as passed on."""
    declared: list[str] = []
    arguments: list[str] = []
    for parameter in signature(method).parameters.values():
        name, kind = parameter.name, parameter.kind
        name = "*" * (kind is Parameter.VAR_POSITIONAL) + "**" * (kind is Parameter.VAR_KEYWORD) + name
        if kind is Parameter.KEYWORD_ONLY and not any(entry.startswith("*") for entry in declared):
            declared.append("*")
        declared.append(name)
        arguments.append(f"{name}={name}" if kind is Parameter.KEYWORD_ONLY else name)
    return ", ".join(declared), ", ".join(arguments)


@lru_cache(maxsize=256)
def _code(declared: str, arguments: str) -> CodeType:
    module = compile(_TEMPLATE.format(declared=declared, given=arguments), __file__, "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType))


def _belong(method: FunctionType, cls: type) -> None:
    """Make `super()` in a method refer to `cls`: attrs creates the class again, and updates only methods it sees."""
    for cell in method.__closure__ or ():
        try:
            before = cell.cell_contents
        except ValueError:  # a name without a value yet
            continue
        if isinstance(before, type) and (before.__module__, before.__qualname__) == (cls.__module__, cls.__qualname__):
            cell.cell_contents = cls
