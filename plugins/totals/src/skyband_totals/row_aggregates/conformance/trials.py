"""Thousands of rows, beyond all sizes at which an aggregate may change its method."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from attrs import frozen
from skyband_specs.driver import Trial

from skyband_totals.row_aggregates.conformance.streams import KINDS, ValueStream, some_values, stream
from skyband_totals.row_aggregates.role import RowAggregate

ROWS = 6_000
LENGTHS = (40, 2_500)


@frozen(eq=False)
class RowAggregateTrial(Trial):
    """Windows of some and of thousands of rows."""

    factory: type[RowAggregate]

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """A single update."""
        backend.update(self.stream.times[start:stop], self.stream.column(start, stop))

    def answers(self, backend: Any, stop: int) -> Any:
        """The values of a few windows."""
        moments = self._moments(stop)
        return [backend.over(moments - length, moments.copy()).to_pylist() for length in LENGTHS]

    def by_definition(self, stop: int) -> Any:
        """The same by the aggregate's definition."""
        aggregate = self.factory(**self.parameters)
        moments = self._moments(stop).tolist()
        return [[self._value(aggregate, moment - length, moment, stop) for moment in moments] for length in LENGTHS]

    def _value(self, aggregate: RowAggregate, begin: int, end: int, stop: int) -> Any:
        values, times = self.stream.inside(begin, end, stop)
        return aggregate.definition(values, times, end)

    def _moments(self, stop: int) -> Any:
        last = int(self.stream.times[stop - 1]) if stop else 0
        return np.array([last - 700, last, last + 1])


@cache
def trials(factory: type[RowAggregate], parameters: tuple[tuple[str, Any], ...]) -> Sequence[RowAggregateTrial]:
    """Each kind of values that the aggregate takes."""
    return list(_trials(factory, dict(parameters)))


def _trials(factory: type[RowAggregate], parameters: Mapping[str, Any]) -> Iterator[RowAggregateTrial]:
    for number, kind in enumerate(KINDS[factory.keeps]):
        rng = np.random.default_rng([72, number])
        values = some_values(kind, parameters.get("unit"), rng, ROWS)
        there = (rng.random(ROWS) < 0.9) | (values.dtype == np.int8)
        rows: ValueStream = stream(np.cumsum(rng.integers(0, 3, ROWS)), values, there)
        yield RowAggregateTrial(f"values of kind {kind}", parameters, rows, factory)
