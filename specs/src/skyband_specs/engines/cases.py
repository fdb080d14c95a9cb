"""The queries that engines are tried on: installed families' examples, also by group, as changes and by rules."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pyarrow as pa
from attrs import evolve
from skyband.errors import ConfigError
from skyband.operator.bind_backends import bind
from skyband.queries import examples_of, kinds, load_query

from skyband_specs.engines.trial import EngineCase
from skyband_specs.queries.case import GROUP, QueryCase

PLAIN, BY, CHANGES, RULES = SORTS = ("plain", "by group", "as changes", "by rules")

_CUTS = (9, 10, 10, 47, 80)
"""The places where very different batches start, one of them empty."""
_RULES = {
    "name": ["short", "long", "short"],
    "window": ["15 seconds", "1 minute", "30 seconds"],
    "slide": ["15 seconds", "30 seconds", "15 seconds"],
    "after": pa.array([None, None, 1_750_000_065_000_000], pa.timestamp("us", "UTC")),
}
_MOST = 3


@cache
def cases(sort: str) -> tuple[EngineCase, ...]:
    """Every query of this sort that the installed families have an example for."""
    make = {PLAIN: _plain, BY: _by, CHANGES: _changes, RULES: _by_rules}[sort]
    return tuple(case for example in _examples() for case in make(example))


def some_cases(sort: str) -> tuple[EngineCase, ...]:
    """The first of each kind of query."""
    return tuple({case.query.kind: case for case in reversed(cases(sort))}.values())[::-1]


@cache
def _examples() -> tuple[QueryCase, ...]:
    return tuple(QueryCase.of(load_query(kind), example) for kind in kinds() for example in examples_of(kind))


def _plain(case: QueryCase) -> Iterator[EngineCase]:
    yield _case_of(case, PLAIN, case.rows)


def _by(case: QueryCase) -> Iterator[EngineCase]:
    yield _case_of(case, BY, _in_groups(case.rows), by=[GROUP])


def _changes(case: QueryCase) -> Iterator[EngineCase]:
    query = case.query()
    if not query.rows and "at" in query.result_schema(case.rows.schema).names:
        yield _case_of(case, CHANGES, _in_groups(case.rows), by=[GROUP], answers="changes")


def _by_rules(case: QueryCase) -> Iterator[EngineCase]:
    """Only examples that ask nothing that rules do not support."""
    if case.factory.broadcast is None:
        return
    keys = {name: value for name, value in case.example.keys.items() if name not in ("queries", "k", "share")}
    keys |= {"longest": "1 minute", "by": [GROUP], **({"windows": []} if "windows" in keys else {})}
    columns = {"k": [1, _MOST, 2]}
    for more in ({}, {"most": _MOST}):
        rows = _in_groups(case.rows)
        try:
            only_keys = evolve(case, example=evolve(case.example, keys=keys | more))
            query = only_keys.query()
            bindings = bind(query, rows.schema)
        except ConfigError:
            continue
        yield EngineCase(
            f"{only_keys} {RULES}",
            query,
            bindings,
            rows,
            _CUTS,
            pa.table({**_RULES, **(columns if "most" in keys | more else {})}),
        )
        return


def _case_of(case: QueryCase, sort: str, rows: pa.Table, **keys: Any) -> EngineCase:
    return EngineCase(f"{case} {sort}", case.query(**keys), case.bindings, rows, _CUTS)


def _in_groups(rows: pa.Table) -> pa.Table:
    """Large groups, small ones, and one without a name."""
    names = [f"group {place % 3 if place % 11 else place % 17}" for place in range(len(rows))]
    named = [None if place % 13 == 5 else name for place, name in enumerate(names)]
    return rows.append_column(GROUP, pa.array(named, pa.string()))
