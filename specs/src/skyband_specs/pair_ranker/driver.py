"""Drives a pair ranker in the common checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from skyband import BackendInfo

from skyband_specs.driver import Case, Driver, Trial, advances
from skyband_specs.pair_ranker import trials
from skyband_specs.pair_ranker.oracle import pairs
from skyband_specs.pair_ranker.streams import PairStream, bursts, odd, steady, tiny

STEADY_ROWS = 8000
ODD_ROWS = 60


class PairRankerDriver(Driver):
    """Feeds (times, offsets, tokens, sides) and asks for the k most similar pairs."""

    role: ClassVar[str] = "pair-ranker"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """Every similarity, one stream and two, both clocks; windows from one set to many, k above the pairs."""
        return [
            {"k": 3, "window": 4},
            {"k": 2, "window": 25, "similarity": "cosine", "sides": 2, "order": "first-seen"},
            {"k": 10, "window": 40, "similarity": "hamming", "by": "rows"},
            {"k": 1, "window": 60, "similarity": "overlap", "order": "first-seen"},
            {"k": 5, "window": 12, "similarity": "dice", "sides": 2, "by": "rows"},
            {"k": 5000, "window": 1, "by": "rows"},
            {"k": 5000, "window": 10**6, "similarity": "cosine"},
        ]

    def tiny(self, case: Case) -> Iterator[PairStream]:
        """All streams of a few tiny sets."""
        return tiny(case.parameters.get("sides", 1))

    def seeded(self, case: Case, seed: int) -> PairStream:
        """Ties everywhere, recurring sets, bursts, silences."""
        return bursts(seed)

    def steady(self, case: Case) -> PairStream:
        """Tokens that never recur, together with some that always do."""
        return steady(STEADY_ROWS, case.parameters["window"])

    def odd(self, case: Case) -> Iterator[tuple[str, PairStream]]:
        """Tokens with equal parts, times at their limits."""
        yield from odd(bursts(4, ODD_ROWS), moments=case.parameters.get("by") != "rows")

    def acts(self, case: Case, stream: PairStream, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:
        """To advance to the next row, possibly before any row, or past all valid rows."""
        return advances(case, stream.times, stop, case.parameters["window"] + 1)

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large streams, each with a fast oracle."""
        return trials.trials(case)

    def feed(self, backend: Any, stream: PairStream, start: int, stop: int) -> None:
        """One update."""
        backend.update(*rows(backend, stream, start, stop))

    def answers(self, backend: Any, stream: PairStream, stop: int) -> list[Any]:
        """`now`, the sets seen and the top k."""
        return [backend.now, backend.seen, *(column.tolist() for column in backend.top())]

    def expected(self, case: Case, stream: PairStream, stop: int) -> list[Any]:
        """The same by comparing all sets."""
        if not stop:
            return [None, 0, [], [], []]
        now = stop if case.parameters.get("by") == "rows" else int(stream.times[stop - 1])
        best = pairs(case.parameters, stream, stop, now)[: case.parameters["k"]]
        columns = ([getattr(pair, name) for pair in best] for name in ("left", "right", "similarity"))
        return [now, stop, *columns]

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Invalid offsets, sides and times, wrong lengths and dtypes."""
        calls, good = bad_updates(backend)
        moments: dict[str, list[int]] = {
            "a moment before now": [backend.now - 1],
            "moments that go back": [backend.now + 5, backend.now + 4],
        }
        return [*calls, *((label, partial(backend.answers, **good, moments=at)) for label, at in moments.items())]


def bad_updates(backend: Any) -> tuple[list[tuple[str, Callable[[], Any]]], dict[str, Any]]:
    """Labelled calls of `update` and `advance` that break the contract, and the arguments of a valid update."""
    step = int(backend.by == "rows")
    times = backend.now + step * np.arange(3)
    good: dict[str, Any] = {"times": times, "offsets": [0, 2, 2, 4], "tokens": np.arange(4)}
    good["sides"] = np.arange(3) % backend.sides

    def update(**wrong: Any) -> Callable[[], Any]:
        return lambda: backend.update(**{**good, **wrong})

    calls: list[tuple[str, Callable[[], Any]]] = [
        ("offsets as many as times", update(offsets=[0, 2, 4])),
        ("offsets that do not begin with 0", update(offsets=[1, 2, 2, 4])),
        ("offsets that end before the tokens", update(offsets=[0, 2, 2, 3])),
        ("offsets that fall", update(offsets=[0, 3, 2, 4])),
        ("tokens that are text", update(tokens=np.array(["a", "b", "c", "d"]))),
        ("a token that is not whole", update(tokens=[1, 2.5, 3, 4])),
        ("fewer sides than times", update(sides=good["sides"][:2])),
        ("a side that does not exist", update(sides=[0, 0, backend.sides])),
        ("a negative side", update(sides=[0, -1, 0])),
        ("fewer parts than times", update(parts=[3, 3])),
        ("a part that does not exist", update(parts=[3, 4, 0])),
        ("a time before now", update(times=times - 1)),
        ("a time that goes back within the batch", update(times=times + np.array([0, 2, 1]))),
        ("times in two dimensions", update(times=times.reshape(3, 1))),
        ("an advance to before now", lambda: backend.advance(backend.now - 1)),
        ("an advance past 64 bits", lambda: backend.advance(2**63)),
        ("an advance by a fraction", lambda: backend.advance(backend.now + 0.5)),
    ]
    if backend.sides == 2:
        calls.append(("no sides for two streams", update(sides=None)))
    return calls, good


def rows(backend: Any, stream: PairStream, start: int, stop: int) -> tuple[Any, ...]:
    """The arguments of a feed: (times, offsets, tokens, sides)."""
    times = np.arange(start, stop) if backend.by == "rows" else stream.times[start:stop]
    return times, *stream.flat(start, stop), stream.sides[start:stop] if backend.sides == 2 else None


DRIVER = PairRankerDriver()
