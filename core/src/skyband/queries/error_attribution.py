"""Whose code failed: what goes wrong in a query or a backend is told with its name and its distribution."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import pyarrow as pa

from skyband.errors import PluginError, SkybandError
from skyband.registry import installed
from skyband.registry.module_import import cause
from skyband.roles.backend import Backend

if TYPE_CHECKING:
    from skyband.queries.query import Query
    from skyband.registry import Binding

BROUGHT_BY: WeakKeyDictionary[type, str] = WeakKeyDictionary()
"""Classes of queries that were looked up in the registry, each with its distribution."""


def of(query: "Query | type[Query]") -> str:
    """The query with its distribution."""
    cls = query if isinstance(query, type) else type(query)
    return f"query {query.kind!r} of {distribution_of(cls)}"


def distribution_of(cls: "type[Query]") -> str:
    """The distribution of a plugin's query; its module where no installed plugin names it, as may be on an executor.

    On an executor of Spark a query comes as it is, and was not looked up there.
    """
    place = f"{cls.__module__}:{cls.__qualname__}"
    named = [entry.distribution for entry in installed().queries.listing if entry.info.factory == place]
    return BROUGHT_BY.get(cls) or next(iter(named), cls.__module__)


@contextmanager
def attributed(query: "Query | type[Query]", bindings: "Mapping[str, Binding] | None" = None) -> Iterator[None]:
    """Raise PluginError, with a name, for what a query or one of its backends raises that is none of Skyband's errors.

    It is a backend's where the last method of a backend that was entered is not merely its role's; else the query's,
    told with the backends it ran on. Memory that runs out is nobody's.
    """
    bindings = bindings or {}
    try:
        yield
    except (SkybandError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"{_culprit(error, query, bindings)} failed: {cause(error)}") from error


def check_answers(query: "Query", answers: pa.RecordBatch, declared: pa.Schema) -> None:
    """Raise PluginError where a query answers with other columns than it declares."""
    if answers.schema == declared:
        return
    got, expected = (", ".join(f"{field.name}: {field.type}" for field in one) for one in (answers.schema, declared))
    raise PluginError(f"{of(query)} answers with the columns {got}; its `answer_fields` declares {expected}")


def _culprit(error: BaseException, query: "Query | type[Query]", bindings: "Mapping[str, Binding]") -> str:
    by_role = {binding.info.role: binding for binding in bindings.values()}
    trace = error.__traceback__
    backend = None
    while trace is not None:
        running = _backend_running(trace.tb_frame)
        backend = backend if running is None else running
        trace = trace.tb_next
    if backend is not None and backend.role in by_role:
        return _of_backend(by_role[backend.role])
    on = " and ".join(map(_of_backend, bindings.values()))
    return f"{of(query)}, on {on}," if on else of(query)


def _backend_running(frame: FrameType) -> Backend | None:
    """The backend whose own code, not its role's, runs in a frame."""
    running = frame.f_locals.get("self")
    in_role = str(frame.f_globals.get("__name__", "")).startswith("skyband.roles.")
    return running if isinstance(running, Backend) and not in_role else None


def _of_backend(binding: "Binding") -> str:
    return f"{binding.info.key} of {binding.distribution}"
