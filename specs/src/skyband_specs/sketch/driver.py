"""Drives a sketch in the common checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from skyband import BackendInfo

from skyband_specs.driver import Case, Driver, Trial
from skyband_specs.odd_streams import NAMES, moved, numbered
from skyband_specs.sketch import trials
from skyband_specs.sketch.oracle import last_seen
from skyband_specs.sketch.streams import SketchStream, bursts, spread, tiny

MOMENTS = 12
STEADY_ROWS = 200_000
STEADY_KEYS = 500
ODD_ROWS = 90
SECOND = 1_000_000
"""In microseconds, the unit of times in jobs."""
FIRST = -(2**63) + 1
"""The first time of a sketch: the one before means "never"."""


class SketchDriver(Driver):
    """Feeds (times, keys) and asks for the count since every interesting moment."""

    role: ClassVar[str] = "sketch"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """Coarse bounds, which give small sketches, with two seeds."""
        return [{"epsilon": 0.1, "delta": 0.05, "seed": 1}, {"epsilon": 0.2, "delta": 0.1, "seed": 2}]

    def tiny(self, case: Case) -> Iterator[SketchStream]:
        """All streams of a few rows over two keys and three times."""
        return tiny(ordered=not case.has("out-of-order"))

    def seeded(self, case: Case, seed: int) -> SketchStream:
        """Ties, bursts, repeated keys; out of order if the backend accepts it."""
        return bursts(seed, ordered=not case.has("out-of-order"))

    def steady(self, case: Case) -> SketchStream:
        """The same keys for ever, each time in another order."""
        rng = np.random.default_rng(0)
        times = np.arange(STEADY_ROWS, dtype=np.int64) // 3 * case.has("any-since")  # each pane would be new content
        return SketchStream(times, spread(rng.integers(0, STEADY_KEYS, STEADY_ROWS)))

    def odd(self, case: Case) -> Iterator[tuple[str, SketchStream]]:
        """Times at their limits and far apart; for exact sketches keys with equal parts: others rely on spread ones."""
        plain = bursts(4, ordered=not case.has("out-of-order"), rows=ODD_ROWS)
        yield "times seconds apart", SketchStream(plain.times * SECOND, plain.keys)
        if case.has("any-since"):
            yield "times days apart", SketchStream(plain.times * (86_400 * SECOND), plain.keys)
            for label, times in moved(plain.times):
                yield f"times {label}", SketchStream(np.maximum(times, FIRST), plain.keys)
        for label, name in NAMES.items() if case.info.guarantee == "exact" else ():
            yield f"keys {label}", SketchStream(plain.times, name(numbered(plain.keys)).view(np.uint64))

    def acts(self, case: Case, stream: SketchStream, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:
        """To forget some, all, or the future; to merge with an empty sketch."""
        times = stream.times[:stop] if stop else stream.times
        low, middle, high = (int(np.quantile(times, part, method="nearest")) for part in (0.0, 0.5, 1.0))
        found: list[tuple[str, Callable[[Any], Any]]] = [
            ("forgetting nothing", lambda backend: backend.forget(low)),
            ("forgetting half", lambda backend: backend.forget(middle)),
            ("forgetting all", lambda backend: backend.forget(high + 1)),
            ("forgetting what is to come", lambda backend: backend.forget(high + 1000)),
        ]
        if case.has("merge"):
            found.append(("merging an empty one", lambda backend: backend.merge(case.make())))
        return found

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large streams, each with a fast oracle."""
        return trials.trials(case)

    def feed(self, backend: Any, stream: SketchStream, start: int, stop: int) -> None:
        """One update."""
        backend.update(stream.times[start:stop], stream.keys[start:stop])

    def answers(self, backend: Any, stream: SketchStream, stop: int) -> list[Any]:
        """`now`, then (since, estimate, low, high) for every moment worth asking about."""
        counts = [(since, backend.estimate(since), *backend.bounds(since)) for since in moments(stream, backend.grain)]
        return [backend.now, *counts]

    def expected(self, case: Case, stream: SketchStream, stop: int) -> list[Any]:
        """The same by counting."""
        last = last_seen(stream, stop).values()
        instants = moments(stream, case.make().grain if not case.has("any-since") else 1)
        counts = [(since, sum(time >= since for time in last)) for since in instants]
        return [max(last, default=None), *((since, count, count, count) for since, count in counts)]

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Wrong lengths, dtypes, shapes, and times that go back if the sketch is ordered."""
        now = backend.now
        keys = spread(np.arange(3))
        good = np.full(3, now)

        def update(times: Any, keys: Any) -> Callable[[], Any]:
            return lambda: backend.update(times, keys)

        calls = [
            ("fewer keys than times", update(good, keys[:2])),
            ("more keys than times", update(good[:2], keys)),
            ("a time that is not whole", update([now, now + 0.5, now], keys)),
            ("a time that is NaN", update([now, np.nan, now], keys)),
            ("a negative key", update(good, [1, -1, 2])),
            ("keys that are text", update(good, np.array(["a", "b", "c"]))),
            ("times in two dimensions", update([[now], [now], [now]], keys)),
        ]
        if backend.grain > 1:
            inside = now // backend.grain * backend.grain + 1
            calls.append(("a moment inside a pane", lambda: backend.estimate(inside)))
            calls.append(("bounds since a moment inside a pane", lambda: backend.bounds(inside)))
        if backend.ordered:
            calls.append(("a time before now", update([now - 1, now, now], keys)))
            calls.append(("a time that goes back within the batch", update([now, now + 2, now + 1], keys)))
        return calls


def moments(stream: SketchStream, grain: int = 1) -> list[int]:
    """Interesting times: some of the stream's, with their neighbours, and both ends of int64.

    Each is rounded up to a multiple of the `grain`; those that leave int64 thereby are left out.
    """
    times = np.unique(stream.times)
    times_near = times[np.linspace(0, len(times) - 1, min(len(times), MOMENTS)).astype(int)].tolist()
    near = {time + step for time in times_near for step in (-1, 0, 1)}
    multiples = {-(-moment // grain) * grain for moment in near | {-(2**63), 0, 2**63 - 1}}
    return sorted(moment for moment in multiples if moment < 2**63)


DRIVER = SketchDriver()
