"""Drives an object ranker in the common checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from attrs import evolve
from skyband import BackendInfo

from skyband_specs.driver import Case, Driver, Trial, advances
from skyband_specs.memoized_oracle import answer_once
from skyband_specs.object_ranker import trials
from skyband_specs.object_ranker.oracle import ObjectOracle
from skyband_specs.object_ranker.streams import ObjectStream, bursts, steady, tiny
from skyband_specs.odd_streams import NAMES, moved, neighbours, numbered, stretched

STEADY_ROWS = 24_000
ODD_ROWS = 90


def _from_lower(stream: ObjectStream, case: Case) -> ObjectStream:
    """The stream with its values, from 0 to `upper`, stretched to start at `lower`."""
    lower, upper = case.parameters.get("lower", 0.0), case.parameters.get("upper", 1.0)
    return evolve(stream, values=stream.values + lower * (1 - stream.values / upper)) if lower else stream


@answer_once
def _by_definition(parameters: Mapping[str, Any], stream: ObjectStream, stop: int) -> list[Any]:
    oracle = ObjectOracle(parameters).feed(stream, 0, stop)
    top = ([], []) if oracle.now is None else oracle.top(oracle.now)
    return [oracle.now, oracle.repeated, *top]


class ObjectRankerDriver(Driver):
    """Feeds (times, streams, objects, values) and asks for the top k."""

    role: ClassVar[str] = "object-ranker"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """Every aggregate, every way to repeat reports, both clocks; windows from one row to many, k above n.

        A ranker that takes a sketch uses its default in the first set and an exact, fast one in the rest. One that
        is exact for few reports has its default limit in the first set and a limit of ten in the rest.
        """
        plain = {"k": 2, "window": 2, "streams": 2, "repeats": "never"}
        others: list[dict[str, Any]] = [
            {"k": 3, "window": 40, "streams": 3, "aggregate": "mean", "repeats": "never", "by": "rows"},
            {"k": 1, "window": 12, "streams": 3, "aggregate": (0.5, 2.0, 0.0), "repeats": 2, "upper": 4.0},
            {"k": 4, "window": 20, "streams": 2, "aggregate": "min", "repeats": "per-window"},
            {"k": 2, "window": 9, "streams": 2, "aggregate": "max", "repeats": "per-window", "by": "rows"},
            {"k": 50, "window": 1, "streams": 1, "by": "rows"},
            {"k": 2, "window": 20, "streams": 2, "lower": -1.0},
            {"k": 3, "window": 60, "streams": 3, "aggregate": "max", "repeats": "largest", "upper": 4.0},
            {"k": 2, "window": 40, "streams": 2, "aggregate": "min", "repeats": "smallest", "by": "rows"},
            {"k": 4, "window": 60, "streams": 2, "aggregate": (0.5, 2.0), "repeats": "mean", "lower": -3.0},
        ]
        return [plain, *({**other, "sketch": "exact", "exact_reports": 10} for other in others)]

    def tiny(self, case: Case) -> Iterator[ObjectStream]:
        """All streams of a few reports by two objects."""
        for stream in tiny(case.parameters["streams"], case.parameters.get("upper", 1.0)):
            yield _from_lower(stream, case)

    def seeded(self, case: Case, seed: int) -> ObjectStream:
        """Ties, bursts, silences, reports that break the promise."""
        return _from_lower(bursts(seed, case.parameters["streams"], case.parameters.get("upper", 1.0)), case)

    def steady(self, case: Case) -> ObjectStream:
        """New objects for ever, each gone soon."""
        return _from_lower(steady(case.parameters["streams"], case.parameters.get("upper", 1.0), STEADY_ROWS), case)

    def odd(self, case: Case) -> Iterator[tuple[str, ObjectStream]]:
        """Ids with equal parts, values close to each other, times at their limits."""
        upper = case.parameters.get("upper", 1.0)
        plain = _from_lower(bursts(4, case.parameters["streams"], upper, ODD_ROWS), case)
        for label, name in NAMES.items():
            yield f"objects {label}", evolve(plain, objects=name(numbered(plain.objects)))
        yield "values beside one another", evolve(plain, values=neighbours(1, ODD_ROWS, upper))
        if case.parameters.get("by") != "rows":
            for label, times in (*moved(plain.times), *stretched(plain.times)):
                yield f"times {label}", evolve(plain, times=times)

    def acts(self, case: Case, stream: ObjectStream, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:
        """To advance to the next row, possibly before any row, or past all valid rows."""
        return advances(case, stream.times, stop, case.parameters["window"] + 1)

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large streams, each with a fast oracle."""
        return trials.trials(case)

    def feed(self, backend: Any, stream: ObjectStream, start: int, stop: int) -> None:
        """One update."""
        rows = slice(start, stop)
        times = np.arange(start, stop) if backend.by == "rows" else stream.times[rows]
        backend.update(times, stream.streams[rows], stream.objects[rows], stream.values[rows])

    def answers(self, backend: Any, stream: ObjectStream, stop: int) -> list[Any]:
        """`now`, the number of reports that broke the promise, and the top k."""
        objects, scores = backend.top()
        return [backend.now, backend.repeated, objects.tolist(), scores.tolist()]

    def expected(self, case: Case, stream: ObjectStream, stop: int) -> list[Any]:
        """The same by definition."""
        return _by_definition(case.parameters, stream, stop)

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Invalid streams, values and times, mismatched lengths and dtypes."""
        step = int(backend.by == "rows")
        times = backend.now + step * np.arange(3)
        streams, objects, values = np.zeros(3, np.int32), np.arange(3), np.full(3, backend.upper)
        good = {"times": times, "streams": streams, "objects": objects, "values": values}

        def update(**wrong: Any) -> Callable[[], Any]:
            return lambda: backend.update(**{**good, **wrong})

        return [
            ("fewer objects than times", update(objects=objects[:2])),
            ("more values than times", update(values=np.ones(4))),
            ("a stream that does not exist", update(streams=[0, backend.streams, 0])),
            ("a negative stream", update(streams=[0, 0, -1])),
            ("a value above upper", update(values=[0.0, 0.0, np.nextafter(backend.upper, np.inf)])),
            ("a value below lower", update(values=[0.0, np.nextafter(backend.lower, -np.inf), 0.0])),
            ("a value that is NaN", update(values=[0.0, np.nan, 0.0])),
            ("an object that is not whole", update(objects=[1, 2.5, 3])),
            ("objects that are text", update(objects=np.array(["a", "b", "c"]))),
            ("a time before now", update(times=times - 1)),
            ("a time that goes back within the batch", update(times=times + np.array([0, 2, 1]))),
            ("times in two dimensions", update(times=times.reshape(3, 1))),
            ("an advance to before now", lambda: backend.advance(backend.now - 1)),
            ("an advance past 64 bits", lambda: backend.advance(2**63)),
            ("an advance by a fraction", lambda: backend.advance(backend.now + 0.5)),
            ("a moment before now", lambda: backend.answers(**good, moments=[backend.now - 1])),
            ("moments that go back", lambda: backend.answers(**good, moments=[backend.now + 5, backend.now + 4])),
        ]


DRIVER = ObjectRankerDriver()
