"""Names the query or backend, and its distribution, whose code raised an error."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import pyarrow as pa

from skyband import registry
from skyband.errors import PluginError, SkybandError
from skyband.registry.module_import import cause
from skyband.roles.backend import Backend

if TYPE_CHECKING:
    from skyband.queries.query import Query
    from skyband.registry import Binding

BROUGHT_BY: WeakKeyDictionary[type, str] = WeakKeyDictionary()
"""Classes of queries found in the registry, with the distribution of each."""


def of(query: "Query | type[Query]") -> str:
    """The query with its distribution, in words."""
    cls = query if isinstance(query, type) else type(query)
    return f"query {query.kind!r} of {distribution_of(cls)}"


def distribution_of(cls: "type[Query]") -> str:
    """The distribution of a plugin's query; its module if no installed plugin names it, as on an executor.

    Queries reach executors pickled, and are not looked up there.
    """
    place = f"{cls.__module__}:{cls.__qualname__}"
    named = [entry.distribution for entry in registry.installed().queries.listing if entry.info.factory == place]
    return BROUGHT_BY.get(cls) or next(iter(named), cls.__module__)


@contextmanager
def attributed(query: "Query | type[Query]", bindings: "Mapping[str, Binding] | None" = None) -> Iterator[None]:
    """Raise PluginError, naming the query or backend, for errors of its code that are not Skyband's.

    The backend is named if its code, not only its role's, was the last entered; otherwise the query is, with its
    backends. Running out of memory is attributed to neither.
    """
    bindings = bindings or {}
    try:
        yield
    except (SkybandError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"{_culprit(error, query, bindings)} failed: {cause(error)}") from error


def check_answers(query: "Query", answers: pa.RecordBatch, declared: pa.Schema) -> None:
    """Raise PluginError if a query answers with other columns than it declares."""
    if answers.schema == declared:
        return
    got, expected = (", ".join(f"{field.name}: {field.type}" for field in own) for own in (answers.schema, declared))
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
    """The backend whose own code, not its role's, runs in a frame; None if none does."""
    running = frame.f_locals.get("self")
    in_role = str(frame.f_globals.get("__name__", "")).startswith("skyband.roles.")
    return running if isinstance(running, Backend) and not in_role else None


def _of_backend(binding: "Binding") -> str:
    return f"{binding.info.key} of {binding.distribution}"
