"""Whose a query is: what goes wrong in the code of a plugin's query is told with its kind and distribution."""

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import pyarrow as pa

from skyband.errors import ConfigError, PluginError, SkybandError
from skyband.queries.query import Query
from skyband.registry.discovery import cause

BROUGHT_BY: WeakKeyDictionary[type, str] = WeakKeyDictionary()
"""Classes of queries that were looked up in the registry, each with its distribution."""


def of(query: Query) -> str:
    """The query with its distribution, or its module where nothing was looked up, as on an executor of Spark."""
    cls = type(query)
    return f"query {query.kind!r} of {BROUGHT_BY.get(cls, cls.__module__)}"


@contextmanager
def attributed(query: Query) -> Iterator[None]:
    """Raise PluginError, with its name, for what a plugin's query raises that is no error of Skyband's own kinds."""
    try:
        yield
    except (SkybandError, ConfigError):
        raise
    except Exception as error:
        if _is_core(query):
            raise
        raise PluginError(f"{of(query)} failed: {cause(error)}") from error


def check_answers(query: Query, answers: pa.RecordBatch, declared: pa.Schema) -> None:
    """Raise PluginError where a plugin's query answers with other columns than it declares."""
    if _is_core(query) or answers.schema == declared:
        return
    got, wanted = (", ".join(f"{field.name}: {field.type}" for field in one) for one in (answers.schema, declared))
    raise PluginError(f"{of(query)} answers with the columns {got}; its `answer_fields` declares {wanted}")


def _is_core(query: Query) -> bool:
    return type(query).__module__.startswith("skyband.queries.")
