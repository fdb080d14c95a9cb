"""Tens of thousands of rows, beyond all sizes at which a sketch may change its method, sorted for each answer."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from attrs import frozen
from skyband_specs.driver import Trial

from skyband_quantiles.conformance.oracle import QuantileOracle
from skyband_quantiles.conformance.plain_data import ABOVE, AT, asked_since
from skyband_quantiles.conformance.streams import different, lognormal, steady


@frozen(eq=False)
class QuantileTrial(Trial):
    """Quantiles, shares and counts since moments near and far."""

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """A single update."""
        backend.update(self.stream.times[start:stop], self.stream.values[start:stop])

    def answers(self, backend: Any, stop: int) -> Any:
        """The answers of the sketch."""
        return [asked_since(backend, since) for since in self._since(stop)]

    def by_definition(self, stop: int) -> Any:
        """The expected answers by definition."""
        oracle = QuantileOracle(self.stream.times[:stop], self.stream.values[:stop])
        answers = [(since, oracle.answer(since, 2**64, AT, ABOVE)) for since in self._since(stop)]
        return [(since, (float(rows),) * 3, *others) for since, (rows, *others) in answers]

    def _since(self, stop: int) -> list[int]:
        now, longest = int(self.stream.times[stop - 1]), int(self.parameters["longest"])
        return [now - longest // part for part in (1, 2, 7, 60)]


@cache
def trials(long: bool) -> Sequence[QuantileTrial]:
    """Latencies, values that drift, and few values that are close to one another."""
    return list(_trials(4 if long else 1))


def _trials(more: int) -> Iterator[QuantileTrial]:
    common = {"by": "time", "offset": 0, "cuts": (), "every": 50}
    yield QuantileTrial("latencies", {**common, "longest": 3000}, lognormal(1, 30_000 * more, 7))
    yield QuantileTrial("drift", {**common, "longest": 2000}, steady(20_000 * more, 5))
    yield QuantileTrial("near values", {**common, "longest": 1500}, different(16_000 * more, 600, 9))
