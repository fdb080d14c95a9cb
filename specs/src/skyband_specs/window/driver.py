"""Drives a window in the common checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from skyband import BackendInfo

from skyband_specs.driver import Case, Driver, Trial
from skyband_specs.window import oracle, trials
from skyband_specs.window.streams import WindowStream, moods, steady, tiny

STEADY_ROWS = 8_000
ODD_ROWS = 30
CLOSE = 1e-12
"""How far a presence, a float, may be from the exact fraction."""


class WindowDriver(Driver):
    """Feeds probabilities and asks for the bounds and each tuple's presence."""

    role: ClassVar[str] = "window"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """One tuple to a dozen; alpha alone, alpha and beta, certainty; thresholds that equal products of halves."""
        return [
            {"size": 2, "alpha": 0.75},
            {"size": 1, "alpha": 0.875, "beta": 0.25},
            {"size": 3, "alpha": 0.9375, "beta": 0.25},
            {"size": 2, "alpha": 1.0},
            {"size": 2, "alpha": 1.0, "beta": 0.125},
            {"size": 12, "alpha": 0.95, "beta": 0.0},
        ]

    def tiny(self, case: Case) -> Iterator[WindowStream]:
        """All streams of a few tuples."""
        return tiny()

    def seeded(self, case: Case, seed: int) -> WindowStream:
        """Sections with every kind of probability."""
        return moods(seed)

    def steady(self, case: Case) -> WindowStream:
        """The paper's existential uncertainty, for ever."""
        return steady(STEADY_ROWS)

    def odd(self, case: Case) -> Iterator[tuple[str, WindowStream]]:
        """Probabilities as close to 0 and 1 as floats allow, mixed with ordinary ones."""
        rng = np.random.default_rng(28)
        tiny = [0.0, 5e-324, 1e-300, 2.0**-53, 1e-9]
        nearly = [1.0, 1.0 - 2.0**-53, 1.0 - 1e-12, 0.5, 0.1]
        for label, kinds in {"tiny": tiny, "nearly certain": nearly, "of all kinds": tiny + nearly}.items():
            yield f"probabilities {label}", WindowStream(rng.choice(kinds, ODD_ROWS))

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large streams, each with a fast oracle."""
        return trials.trials(case)

    def feed(self, backend: Any, stream: WindowStream, start: int, stop: int) -> None:
        """One append."""
        backend.append(stream.probabilities[start:stop])

    def answers(self, backend: Any, stream: WindowStream, stop: int) -> list[Any]:
        """Start, end and the presence of every tuple kept."""
        return [backend.start, backend.end, backend.presence().tolist()]

    def expected(self, case: Case, stream: WindowStream, stop: int) -> list[Any]:
        """The same from all possible worlds."""
        probabilities, parameters = stream.probabilities[:stop].tolist(), case.parameters
        start = oracle.start(probabilities, parameters["size"], parameters["alpha"], parameters.get("beta"))
        return [start, stop, oracle.presence(probabilities[start:], parameters["size"])]

    def same(self, case: Case, got: list[Any], expected: list[Any]) -> bool:
        """Equal bounds exactly, equal probabilities approximately."""
        alike = len(got[2]) == len(expected[2])
        return got[:2] == expected[:2] and alike and bool(np.allclose(got[2], expected[2], rtol=0.0, atol=CLOSE))

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Invalid probabilities, wrong shapes and dtypes, missing tuples."""

        def append(probabilities: Any) -> Callable[[], Any]:
            return lambda: backend.append(probabilities)

        def among(positions: Any, ends: Any, probabilities: Any = (0.5, 1.0, 0.5)) -> Callable[[], Any]:
            return lambda: backend.presence_among(probabilities, positions, ends)

        return [
            ("a probability above 1", append([0.5, np.nextafter(1.0, 2.0)])),
            ("a negative probability", append([0.5, -5e-324, 0.5])),
            ("a probability that is NaN", append([0.5, np.nan])),
            ("an infinite probability", append([np.inf])),
            ("probabilities that are text", append(np.array(["1", "0"]))),
            ("probabilities in two dimensions", append([[0.5], [0.5]])),
            ("presence at an end before the position", among([2], [2])),
            ("presence at an end past the stream", among([0], [4])),
            ("presence before the stream", among([-1], [3])),
            ("fewer ends than positions", among([0, 1], [3])),
            ("presence among an invalid probability", among([0], [3], [0.5, 2.0, 0.5])),
        ]


DRIVER = WindowDriver()
