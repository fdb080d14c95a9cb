"""Windows of hundreds of tuples, compared with the Poisson-binomial recurrence in long floats."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Float64

from skyband_specs.driver import Case, Trial
from skyband_specs.window.streams import WindowStream, existences

CLOSE = 1e-12
STOPS = 6


@frozen(eq=False)
class WindowTrial(Trial):
    """Bounds and presence of a window with far more than a dozen tuples."""

    @property
    def stops(self) -> Sequence[int]:
        """Evenly over the stream."""
        return [len(self.stream) * (part + 1) // STOPS for part in range(STOPS)]

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """One append."""
        backend.append(self.stream.probabilities[start:stop])

    def answers(self, backend: Any, stop: int) -> Any:
        """Start, end and presence, which is also asked for as presence among the whole stream."""
        positions = np.arange(backend.start, backend.end)
        among = backend.presence_among(self.stream.probabilities[:stop], positions, np.full(len(positions), stop))
        return [backend.start, backend.end, backend.presence().tolist(), among.tolist()]

    def by_definition(self, stop: int) -> Any:
        """The same from the recurrence."""
        parameters = self.parameters
        start, end, presence = _expected(
            self.stream.probabilities[:stop].tobytes(), parameters["size"], parameters["alpha"], parameters["beta"]
        )
        return [start, end, presence, presence]

    def same(self, got: Any, expected: Any) -> bool:
        """Equal bounds exactly, equal probabilities approximately."""
        alike = got[:2] == expected[:2] and len(got[2]) == len(got[3]) == len(expected[2])
        return alike and bool(np.allclose(got[2:], expected[2:], rtol=0.0, atol=CLOSE))


@cache
def _expected(stream: bytes, size: int, alpha: float, beta: float | None) -> list[Any]:
    probabilities = np.frombuffer(stream)
    tails = fewer_than(size, probabilities[::-1], min(1.0 - alpha, beta or 1.0) / 2)
    enough = (tails <= np.longdouble(1) - np.longdouble(alpha)) | (tails < (beta or 0.0))
    count = int(enough.argmax()) if enough.any() else len(probabilities)
    return [len(probabilities) - count, len(probabilities), tails[:count][::-1].astype(np.float64).tolist()]


def fewer_than(size: int, youngest_first: Float64, enough: float) -> Any:
    """P(fewer than `size` of the first j exist), for j = 0, 1, … until it is below `enough`, if it ever is.

    Eq. 10 in long floats, O(j·size).
    """
    row = np.zeros(size, np.longdouble)
    row[0] = 1.0
    tails = [row.sum()]
    for p in youngest_first.astype(np.longdouble):
        if tails[-1] < enough:
            break
        row[1:] = row[1:] * (1 - p) + row[:-1] * p
        row[0] *= 1 - p
        tails.append(row.sum())
    return np.minimum(np.array(tails), 1.0)


def trials(case: Case) -> Iterator[WindowTrial]:
    """The paper's probabilities, any, small ones, which make very large windows, and sections of certain ones."""
    rng = np.random.default_rng([19])
    more = 4 if case.long else 1
    runs = np.where(np.arange(350 * more) // 90 % 2, 1.0, rng.random(350 * more))
    kinds = {
        "the paper's": (existences(20, 420 * more, 0.1), 300, 0.99, None),
        "for long": (rng.random(70_000 * more), 2, 0.9, None),
        "any": (rng.random(280 * more), 80, 0.9, 0.05),
        "small": (rng.random(1200 * more) * 0.04, 9, 0.95, None),
        "nearly certain, in runs": (runs, 150, 0.999, 0.0),
    }
    for label, (probabilities, size, alpha, beta) in kinds.items():
        yield WindowTrial(label, {"size": size, "alpha": alpha, "beta": beta}, WindowStream(probabilities))
