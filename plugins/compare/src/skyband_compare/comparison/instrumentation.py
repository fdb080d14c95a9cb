"""Watches the backends an operator makes: the time spent inside them, how much they retain, how many bytes."""

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
    """What the backends made so far have cost."""

    seconds: float = field(default=0.0, init=False)
    """Inside their public methods, from the first import of their class on."""
    parameters: dict[str, Any] = field(factory=dict, init=False)
    """Of the last one made, its defaults and what the query gave it among them."""
    _made: "list[weakref.ref[Backend]]" = field(factory=list, init=False)
    _depth: int = field(default=0, init=False)
    """Public methods call one another; only the outermost counts."""

    def timed(self, call: Callable[[], Any]) -> Any:
        """What `call` gives, its time added to `seconds`."""
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
        """The backends that are in use."""
        backends = [backend for made in self._made if (backend := made()) is not None]
        self._made = [weakref.ref(backend) for backend in backends]
        return backends

    def size(self) -> tuple[int, int]:
        """Items retained and bytes of state, over all backends in use. O(groups)."""
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
    """A binding whose backends are watched."""

    watch: Watch = field(factory=Watch, kw_only=True, eq=False)

    @classmethod
    def of(cls, binding: Binding, watch: Watch) -> "Watched":
        """The same choice, watched."""
        return cls(**attrs.asdict(binding, recurse=False), watch=watch)

    def create(self, **given: Any) -> Backend:
        def made() -> Any:
            return build(watched(self.backend_class), {**self.parameters, **given})

        return self.watch.add(self.watch.timed(made))


@cache
def watched(cls: type[Backend]) -> type[Backend]:
    """A subclass of a backend that gives the time of each public method of its role to its `_watch`."""
    interface = interface_of(cls.role)
    methods = {name: _timed(getattr(cls, name)) for name in _public(interface, inspect.isfunction)}
    methods |= {name: _timed_together(getattr(cls, name).__func__) for name in _public(interface, inspect.ismethod)}
    own: dict[str, Any] = {"_watch": None, "__doc__": cls.__doc__, "__module__": cls.__module__}
    # No small groups stand in for the backends that are compared.
    if hasattr(cls, "exact_up_to"):
        own["exact_up_to"] = 0
    if hasattr(cls, "bitmap"):
        methods["bitmap"] = lambda self: None  # noqa: ARG005 - a method of a sketch
    subclass: type[Backend] = type(cls)(cls.__name__, (cls,), {**own, **methods})  # type: ignore[misc]
    return subclass


def _public(interface: type, kind: Callable[[Any], bool]) -> list[str]:
    """The names of the role's methods of a kind that are timed."""
    names = (name for name, _ in inspect.getmembers(interface, kind))
    return [name for name in names if not name.startswith("_") and name not in _NOT_TIMED]


def _timed_together(method: Callable[..., Any]) -> Any:
    """A class method whose first argument is the backends that it works on."""

    @functools.wraps(method)
    def timed(cls: Any, backends: Any, *args: Any, **kwargs: Any) -> Any:
        return backends[0]._watch.timed(lambda: method(cls, backends, *args, **kwargs))

    return classmethod(timed)


def _timed(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._watch is None:  # its own making, in __attrs_post_init__
            return method(self, *args, **kwargs)
        return self._watch.timed(lambda: method(self, *args, **kwargs))

    return timed
