"""Which calls a backend takes: of one thread at a time, and none after one that was cut short.

Compiled code works on a backend's arrays in place and without Python's lock: two threads in one backend end in broken
answers or a dead process. Waiting for one another would hide that, so the second is told at once. The same holds after
Ctrl-C, or any error but InputError, which leaves a backend as it was, ended a call half-way: what the arrays hold then,
the next must not rely on.
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
"""Public methods that look at nothing that changes."""

_CHECKED_FIRST = {"reconfigure"}
"""Methods whose ConfigError, too, comes before anything has changed."""

REMEDY = "restore it from a snapshot of before, or make a new one and give it the rows again"

NOBODY = 0
"""In a backend's `_owner`, no thread: none has this number."""

BROKEN = -1
"""In a backend's `_owner`, that a call was cut short: nobody comes in any more."""

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
"""No Python is called between reading the owner and writing it, so that under Python's lock no thread comes between:
`own` sets the slot itself, which is also ten times as quick as the way attrs sets fields.

Written out for each list of parameters: passing on whatever comes (`*arguments`) would cost more than all the rest.
"""


def guard(cls: type) -> None:
    """Make the public methods that `cls` defines raise BusyError in a second thread, BrokenError after a call that was
    cut short. Costs about 100 ns a call."""
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
    """Refuse other threads while a method of another backend works on this one (such as `merge` on its argument)."""
    me = get_ident()
    owner = backend._owner
    if owner not in (NOBODY, me):
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
    """As `inside`, of backends of one class that one call works on. None of them comes twice."""
    me, own = get_ident(), _slot(type(backends[0])).__set__
    for backend in backends:
        if backend._owner:
            refuse(backend, inside_all)
    after = BROKEN
    try:
        for backend in backends:
            own(backend, me)
        yield
        after = NOBODY
    except InputError:
        after = NOBODY
        raise
    finally:
        for backend in backends:
            own(backend, after)


def refuse(backend: Any, method: Callable[..., Any]) -> NoReturn:
    """Raise BrokenError or BusyError for a call of `method`."""
    if backend._owner == BROKEN:
        message = f"{backend.role}/{backend.name}: {method.__name__} after a call of it was cut short"
        raise BrokenError(f"{message}: {REMEDY}")
    message = f"{backend.role}/{backend.name}: {method.__name__} while another thread is inside this backend"
    raise BusyError(f"{message}: give each thread a backend of its own, or a lock to share")


def _slot(cls: type) -> Any:
    """Where backends keep their `_owner`."""
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
    """How the parameters of a method are declared, and passed on."""
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
    """Let `super()` in a method mean `cls`: attrs makes a class anew, and tells only the methods that it sees."""
    for cell in method.__closure__ or ():
        try:
            before = cell.cell_contents
        except ValueError:  # of a name that has no value yet
            continue
        if isinstance(before, type) and (before.__module__, before.__qualname__) == (cls.__module__, cls.__qualname__):
            cell.cell_contents = cls
