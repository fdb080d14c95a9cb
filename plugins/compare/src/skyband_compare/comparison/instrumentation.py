"""Watches the backends that an operator creates: time spent in them, items retained, and bytes."""

import functools
import inspect
import time
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any

import attrs
from attrs import define, field, frozen
from skyband.config.parameters import build
from skyband.registry import Binding, interface_of
from skyband.roles import Backend

_NOT_TIMED = ("parameters", "snapshot", "dump_state", "load_state")


@define(eq=False)
class Watch:
    """The cost of the backends created so far."""

    seconds: float = field(default=0.0, init=False)
    """Seconds in their public methods, including the first import of their class."""
    parameters: dict[str, Any] = field(factory=dict, init=False)
    """The parameters of the last one created, including defaults and those from the query."""
    _made: "list[weakref.ref[Backend]]" = field(factory=list, init=False)
    _depth: int = field(default=0, init=False)
    """Public methods call each other; only the outermost is timed."""

    def timed(self, call: Callable[[], Any]) -> Any:
        """Call `call`, and add its time to `seconds`."""
        if self._depth:
            return call()
        self._depth = 1
        started = time.perf_counter()
        try:
            return call()
        finally:
            self.seconds += time.perf_counter() - started
            self._depth = 0

    def alive(self) -> list[Backend]:
        """The backends in use."""
        backends = [backend for made in self._made if (backend := made()) is not None]
        self._made = [weakref.ref(backend) for backend in backends]
        return backends

    def size(self) -> tuple[int, int]:
        """Items retained and bytes of state of all backends in use. O(groups)."""
        alive = self.alive()
        return sum(map(len, alive)), sum(backend.nbytes for backend in alive)

    def add(self, backend: Any) -> Any:
        """Watch a backend of a class from `watched`."""
        backend._watch = self
        self.parameters = backend.parameters()
        self._made.append(weakref.ref(backend))
        return backend


@frozen
class Watched(Binding):
    """A binding that watches its backends."""

    watch: Watch = field(factory=Watch, kw_only=True, eq=False)

    @classmethod
    def of(cls, binding: Binding, watch: Watch) -> "Watched":
        """Watch the backends of a binding."""
        return cls(**attrs.asdict(binding, recurse=False), watch=watch)

    def create(self, **parameters: Any) -> Backend:
        def construct() -> Any:
            return build(watched(self.backend_class), {**self.parameters, **parameters})

        return self.watch.add(self.watch.timed(construct))


@cache
def watched(cls: type[Backend]) -> type[Backend]:
    """A subclass of a backend that reports the time of each public method of its role to its `_watch`."""
    interface = interface_of(cls.role)
    methods = {name: _timed(getattr(cls, name)) for name in _public(interface, inspect.isfunction)}
    methods |= {name: _timed_together(getattr(cls, name).__func__) for name in _public(interface, inspect.ismethod)}
    own: dict[str, Any] = {"_watch": None, "__doc__": cls.__doc__, "__module__": cls.__module__}
    # Disable small groups, which would replace the backends that are compared.
    if hasattr(cls, "exact_up_to"):
        own["exact_up_to"] = 0
    if hasattr(cls, "bitmap"):
        methods["bitmap"] = lambda self: None  # noqa: ARG005 - a method of a sketch
    subclass: type[Backend] = type(cls)(cls.__name__, (cls,), {**own, **methods})  # type: ignore[misc]
    return subclass


def _public(interface: type, kind: Callable[[Any], bool]) -> list[str]:
    """The names of the role's timed methods of this kind."""
    names = (name for name, _ in inspect.getmembers(interface, kind))
    return [name for name in names if not name.startswith("_") and name not in _NOT_TIMED]


def _timed_together(method: Callable[..., Any]) -> Any:
    """Time a class method whose first argument is its backends."""

    @functools.wraps(method)
    def timed(cls: Any, backends: Any, *args: Any, **kwargs: Any) -> Any:
        return backends[0]._watch.timed(lambda: method(cls, backends, *args, **kwargs))

    return classmethod(timed)


def _timed(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._watch is None:  # still in __attrs_post_init__
            return method(self, *args, **kwargs)
        return self._watch.timed(lambda: method(self, *args, **kwargs))

    return timed
