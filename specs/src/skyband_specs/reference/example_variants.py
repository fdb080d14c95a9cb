"""The variants of a query's example: windows in time or in rows, over all rows or by groups."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen
from skyband.config.durations import parse
from skyband.config.parameters import parameters_of
from skyband.errors import ConfigError
from skyband.queries import make_query
from skyband.queries.query import Query
from skyband_jobs.tables.spark_ddl import parse_ddl

from skyband_specs.reference.example_jobs import job_example

UNITS = ("time", "rows")
GROUP = "place"
"""A column added to the examples' sources, to group by."""


@frozen
class Form:
    """An example's query with its windows in one unit, and the schema of its source with a column to group by."""

    unit: str
    keys: Mapping[str, Any]
    schema: pa.Schema

    def query(self, **further: Any) -> Query:
        """The query, with further keys. Raises ConfigError where they do not fit."""
        own = make_query({**self.keys, **further})
        problems = own.check(self.schema)
        if problems:
            raise ConfigError(*problems)
        return own

    def grouped(self) -> Query:
        """The query by groups."""
        return self.query(by=[GROUP])

    def with_each_choice(self) -> Iterator[tuple[str, str, Query]]:
        """Each key with a fixed set of words, each word other than its default, and the query with it."""
        for parameter in parameters_of(type(self.query())):
            words = parameter.bounds.removeprefix("one of ").split(", ")
            for word in words if parameter.bounds.startswith("one of ") else ():
                try:
                    if word != self.keys.get(parameter.name, parameter.default):
                        yield parameter.name, word, self.query(**{parameter.name: word})
                except ConfigError:  # it needs keys that the example does not have
                    continue


def forms(kind: str) -> list[Form]:
    """The variants of a kind's example, one for each unit its windows may have; none if the plugin has no example."""
    example = job_example(kind)
    if example is None:
        return []
    tables = tomllib.loads(example.job)
    schema = parse_ddl(tables["source"]["schema"]).append(pa.field(GROUP, pa.string()))
    by_name: dict[str, Form] = {}
    for keys in (tables["query"], _in_rows(tables["query"])):
        try:
            unit = "rows" if make_query(keys).rows else "time"
            form = Form(unit, keys, schema)
            form.query()
        except ConfigError:
            continue
        by_name.setdefault(unit, form)
    return [by_name[unit] for unit in UNITS if unit in by_name]


def _in_rows(keys: Any) -> Any:
    """The same keys with every duration replaced by the same number of rows."""
    if isinstance(keys, dict):
        return {name: _in_rows(value) for name, value in keys.items() if name != "delay"}
    if isinstance(keys, list):
        return [_in_rows(value) for value in keys]
    return re.sub(r"[a-z]+$", "rows", keys) if _is_time(keys) else keys


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and not parse(value).rows
    except ValueError:
        return False
