"""A query under test: its class, an example's keys and rows, its bound backends, and ways to run it."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from skyband.columns.arrow_normalization import no_rows
from skyband.config.parameters import build
from skyband.engines.local import LocalRun
from skyband.errors import InputError
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode
from skyband.queries.example import QueryExample
from skyband.queries.query import Query
from skyband.registry import Binding, installed

GROUP = "group of a check"
"""The column that checks add if they need groups."""


@frozen(eq=False)
class QueryCase:
    """The class is passed, not looked up, so that a query that is not installed can be tried too."""

    factory: type[Query]
    example: QueryExample
    bindings: Mapping[str, Binding]

    @classmethod
    def of(cls, factory: type[Query], example: QueryExample) -> "QueryCase":
        """Raises ConfigError with every problem of the example's keys, rows and backends."""
        query = build(factory, dict(example.keys))
        backends = {role: example.backends.get(role) or exact_backend(role) for role in query.asked_roles}
        return cls(factory, example, bind(query, example.rows.schema, backends))

    @property
    def rows(self) -> pa.Table:
        """The example's rows, in the order they arrive."""
        return self.example.rows

    @property
    def exact(self) -> bool:
        """Whether every backend is exact."""
        return all(binding.info.guarantee == "exact" for binding in self.bindings.values())

    def query(self, **changes: Any) -> Query:
        """The query, with changed keys."""
        return build(self.factory, {**self.example.keys, **changes})

    def run(self, rows: pa.Table, query: Query | None = None) -> LocalRun:
        """A new run over a source with the columns of `rows`."""
        return LocalRun(Operator(query or self.query(), self.bindings, rows.schema))

    def answers(self, rows: pa.Table, cuts: Sequence[int] = (), query: Query | None = None) -> pa.Table:
        """All answers to rows that arrive in batches cut before these rows, up to the end of the input."""
        run = self.run(rows, query)
        return gathered(run, [*(run.push(batch) for batch in cut(rows, cuts)), run.finish()])

    def __str__(self) -> str:
        keys = ", ".join(f"{name}={value!r}" for name, value in self.example.keys.items())
        backends = ", ".join(binding.info.key for binding in self.bindings.values())
        return f"query/{self.factory.kind}({keys})" + (f" on {backends}" if backends else "")


def exact_backend(role: str) -> str:
    """The default of a role if it is exact, else another exact backend if there is one, else the default."""
    default = installed().role(role).default
    exact = [info.name for info in installed().backends(role) if info.guarantee == "exact"]
    return default if default in exact or not exact else exact[0]


def cut(rows: pa.Table, places: Iterable[int]) -> list[pa.RecordBatch]:
    """The rows as batches that start at these places."""
    bounds = [0, *places, len(rows)]
    whole = rows.combine_chunks().to_batches()
    batch = whole[0] if whole else no_rows(rows.schema)
    return [batch.slice(start, stop - start) for start, stop in pairwise(bounds)]


def with_large_numbers(rows: pa.Table, query: Query) -> pa.Table:
    """The rows with numbers beyond 32 bits in each column of 64-bit integers that a query takes them in."""
    for each in query.inputs():
        place = rows.column_names.index(each.column)
        column = rows.column(place).combine_chunks()
        if column.type != pa.int64():
            continue
        large = np.where(np.arange(len(rows)) % 5 == 1, 2**40 + 1, -(2**40) - 1)
        of_large = pa.array(np.isin(np.arange(len(rows)) % 5, (1, 3)))
        changed = rows.set_column(place, rows.schema.field(place), pc.if_else(of_large, pa.array(large), column))
        rows = changed if takes(query, changed) else rows
    return rows


def takes(query: Query, rows: pa.Table) -> bool:
    """Whether the query takes all of these rows."""
    try:
        for batch in cut(rows.select(query.columns), []):
            encode(query, batch)
    except InputError:
        return False
    return True


def random_cuts(seed: int, count: int) -> list[int]:
    """Random places to cut this many rows, one of them twice, which makes an empty batch."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.integers(0, count + 1, max(2, count // 8))).tolist()
    return [*places[:1], *places]


def gathered(run: LocalRun, answers: Iterable[pa.RecordBatch]) -> pa.Table:
    """The answers of a run as one table; fails where one has another schema than the query declares."""
    schema = run.operator.result_schema
    parts = list(answers)
    for part in parts:
        if part.schema != schema:
            raise AssertionError(f"an answer's schema differs from the declared one: {_differing(part.schema, schema)}")
    return pa.Table.from_batches(parts, schema)


def lines(answers: pa.Table) -> list[str]:
    """Answers as sorted lines of text, exactly."""
    return sorted(map(repr, answers.to_pylist()))


def _differing(got: pa.Schema, expected: pa.Schema) -> str:
    here, there = ([f"{field.name}: {field.type}" for field in schema] for schema in (got, expected))
    return f"got {[one for one in here if one not in there] or here}, declared {there}"
