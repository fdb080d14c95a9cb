"""The driver of row-aggregates for the common checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from skyband import BackendInfo
from skyband.arrays import Int64
from skyband_specs.driver import Case, Driver, Trial
from skyband_specs.memoized_oracle import answer_once

from skyband_totals.row_aggregates.conformance.streams import KINDS, ValueStream, seeded, some_values, stream, tiny
from skyband_totals.row_aggregates.conformance.trials import trials
from skyband_totals.row_aggregates.role import NUMBER, ROWS, RowAggregate

LENGTHS = (1, 3, 15, 2**40)
STEADY_ROWS = 4_000
SPAN = 300
"""The time for which a steady stream keeps rows."""
FARTHEST = 2**62


class RowAggregateDriver(Driver):
    """Feeds rows of one group, and asks for windows of several lengths that end at and after its rows."""

    role: ClassVar[str] = "row-aggregate"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """Units, lengths of lists and ranks, for aggregates that have them."""
        return [
            {"q": 0.5},
            {"unit": 0.01, "k": 2, "q": 0.95},
            {"unit": 2.0, "k": 40, "q": 0.333333333},
        ]

    def tiny(self, case: Case) -> Iterator[ValueStream]:
        """Up to four rows of two values and null."""
        return tiny(_kinds(case), case.parameters.get("unit"))

    def seeded(self, case: Case, seed: int) -> ValueStream:
        """Ties, bursts, gaps, nulls, values far apart."""
        return seeded(_kinds(case), case.parameters.get("unit"), seed)

    def steady(self, case: Case) -> ValueStream:
        """One row a moment without end."""
        rng = np.random.default_rng(71)
        unit = case.parameters.get("unit")
        values = some_values(_kinds(case)[0], unit, rng, STEADY_ROWS)
        return stream(np.arange(STEADY_ROWS), values)

    def odd(self, case: Case) -> Iterator[tuple[str, ValueStream]]:
        """Times far from 0, all rows at one time, one value for ever, and numbers at the ends of their types."""
        some = self.seeded(case, 4)
        rows = len(some)
        yield "times at the first there are", stream(some.times - FARTHEST, some.values, some.there)
        yield "times at the last there are", stream(some.times + FARTHEST, some.values, some.there)
        yield "all rows at one time", stream(np.full(rows, 7), some.values, some.there)
        yield "one value for ever", stream(some.times, np.full(rows, some.values[0], some.values.dtype), some.there)
        yield "nulls only", stream(some.times, some.values, np.full(rows, some.values.dtype == np.int8))
        kinds, unit = _kinds(case), case.parameters.get("unit")
        if "i" in kinds:
            is_number = KINDS[NUMBER] == kinds
            ends = [2**53, -(2**53)] if is_number else [2**63 - 1, -(2**63), 2**63 - 2, 0]
            if unit in (None, 1.0):
                yield "the ends of integers", stream(some.times, np.resize(np.array(ends), rows))
        if "f" in kinds and unit is None:
            for label, floats in _FLOATS.items():
                yield label, stream(some.times, np.resize(np.array(floats), rows))

    def trials(self, case: Case) -> Iterable[Trial]:
        """Windows of thousands of rows."""
        return trials(cast(type[RowAggregate], case.factory), tuple(sorted(case.parameters.items())))

    def acts(self, case: Case, stream: ValueStream, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:
        """Forget some rows, or all."""
        if not stop:
            return []
        middle, last = int(stream.times[stop // 2]), int(stream.times[stop - 1])
        return [
            ("forgetting half", lambda backend: backend.forget(middle)),
            ("forgetting all", lambda backend: backend.forget(last + 1)),
        ]

    def feed(self, backend: Any, stream: ValueStream, start: int, stop: int) -> None:
        """A single update."""
        backend.update(stream.times[start:stop], stream.column(start, stop))
        if len(stream) == STEADY_ROWS and stop:
            backend.forget(int(stream.times[stop - 1]) - SPAN)

    def answers(self, backend: Any, stream: ValueStream, stop: int) -> list[Any]:
        """The values of windows of each length, one question at each of some moments."""
        moments = moments_of(stream, stop)
        return [backend.over(moments - length, moments.copy()).to_pylist() for length in LENGTHS]

    def expected(self, case: Case, stream: ValueStream, stop: int) -> list[Any]:
        """The same by the aggregate's definition."""
        return _by_definition(cast(type[RowAggregate], case.factory), case.parameters, stream, stop)

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Times that go back, values of another type or that cannot be added, questions that go back."""
        now, keeps = backend.now, backend.keeps
        good: dict[str, Any] = {"times": [now + 1, now + 2, now + 3]}
        if keeps != ROWS:
            good["values"] = pa.array([None] * 3, pa.null())

        def call(**wrong: Any) -> Callable[[], Any]:
            return lambda: backend.update(**{**good, **wrong})

        calls = [
            ("a time before now", call(times=[now - 1, now + 1, now + 2])),
            ("times that go back", call(times=[now + 1, now + 3, now + 2])),
            ("times that are text", call(times=["a", "b", "c"])),
            ("fewer values than times", call(values=[1.0])),
            ("values of no type", call(values=[1.0, "a", 2.0])),
            ("lists as values", call(values=pa.array([[1], [2], [3]]))),
            ("a window that ends before it begins", lambda: backend.over([5], [4])),
            ("windows that go back", lambda: backend.over([5, 4], [6, 6])),
            ("ends that go back", lambda: backend.over([1, 2], [6, 5])),
            ("fewer ends than beginnings", lambda: backend.over([1, 2], [6])),
        ]
        if keeps == NUMBER:
            calls.append(("text that cannot be added", call(values=["a", "b", "c"])))
            calls.append(("a number that is none", call(values=[1.0, float("nan"), 2.0])))
            calls.append(("a number without end", call(values=[1.0, 2.0, float("inf")])))
        if getattr(backend, "unit", None) is not None:
            calls.append(("no multiple of the unit", call(values=[0.0, backend.unit / 3, 0.0])))
        return calls


_FLOATS = {
    "the ends of floats": [1e308, -1e308, 5e-324, -5e-324, 1e308, 1e308],
    "floats that cancel": [1e16, 1.0, -1e16, 2.0**-60],
    "half of the last bit": [1.0, 2.0**-53, 2.0**-54, 2.0**-53, 2.0**-105],
    "denormals": [5e-324, 1.5e-323, 2.2e-308, 1.1e-308, -5e-324, 3e-162, 1e-170],
}

DRIVER = RowAggregateDriver()
"""What `skyband_specs` drives the role by."""


def _kinds(case: Case) -> str:
    factory: Any = case.factory
    return KINDS[factory.keeps]


def moments_of(rows: ValueStream, stop: int) -> Int64:
    """int64[q]: moments at, just after and long after some of the rows, ascending."""
    times = rows.times[:stop]
    some = times[:: max(1, len(times) // 5)]
    late = [int(times[-1]) + 1, int(times[-1]) + 80] if len(times) else [0]
    return np.unique(np.concatenate([some, some + 1, np.array(late, np.int64)]))


@answer_once
def _by_definition(
    factory: type[RowAggregate], parameters: Mapping[str, Any], rows: ValueStream, stop: int
) -> list[Any]:
    aggregate = factory(**parameters)
    return [
        [aggregate.definition(*rows.inside(moment - length, moment, stop), moment) for moment in moments]
        for length in LENGTHS
        for moments in [moments_of(rows, stop).tolist()]
    ]
