"""All that the shared checks need to know of the role mine: streams, how to feed them, and what to compare."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from attrs import frozen
from skyband import BackendInfo
from skyband.arrays import TIME_MAX, TIME_MIN, Int64
from skyband_specs.driver import Case, Driver
from skyband_specs.stream import Stream

from skyband_specs.scaffold.role_plugin.role import MineRole


@frozen(eq=False)
class Numbers(Stream):
    """Whole numbers at times that never go back: one field a column."""

    times: Int64
    values: Int64


def of(*rows: tuple[int, int]) -> Numbers:
    """A stream of pairs of a time and a value."""
    return Numbers(*(np.array([row[place] for row in rows], np.int64) for place in (0, 1)))


def moments(now: int | None, longest: int) -> list[int]:
    """The moments since which a backend is queried: both ends of what it answers, and one between."""
    return [5] if now is None else [now - longest, now - longest // 2, now, now + 1]


class MineDriver(Driver):
    """Feeds a backend numbers and asks for their means."""

    role = "mine"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        return [{"longest": 10}, {"longest": 1}]

    def tiny(self, case: Case) -> Iterator[Stream]:
        for length in range(4):
            for steps, values in product(product((0, 1, 9), repeat=length), product((-1, 3), repeat=length)):
                yield of(*zip(np.cumsum(steps).tolist(), values, strict=True))

    def seeded(self, case: Case, seed: int) -> Stream:
        rng = np.random.default_rng(seed)
        return Numbers(np.cumsum(rng.choice([0, 1, 2, 50], 300, p=[0.4, 0.4, 0.1, 0.1])), rng.integers(-9, 10, 300))

    def steady(self, case: Case) -> Stream:
        return Numbers(np.arange(4000), np.arange(4000) % 7)

    def odd(self, case: Case) -> Iterator[tuple[str, Stream]]:
        yield "both ends of time", of((TIME_MIN, 1), (TIME_MIN + 1, 2), (0, 3), (TIME_MAX, 4))
        yield "both ends of values", of((0, 2**31), (0, 2**31), (1, -(2**31)))

    def feed(self, backend: MineRole, stream: Numbers, start: int, stop: int) -> None:
        backend.update(stream.times[start:stop], stream.values[start:stop])

    def answers(self, backend: MineRole, stream: Numbers, stop: int) -> Any:
        means = [backend.mean(since) for since in moments(backend.now, backend.longest)]
        return [backend.now, [None if np.isnan(mean) else mean for mean in means]]

    def expected(self, case: Case, stream: Numbers, stop: int) -> Any:
        rows = list(zip(stream.times[:stop].tolist(), stream.values[:stop].tolist(), strict=True))
        now = rows[-1][0] if rows else None
        windows = [[value for time, value in rows if time >= at] for at in moments(now, case.parameters["longest"])]
        return [now, [sum(values) / len(values) if values else None for values in windows]]

    def bad_inputs(self, backend: MineRole) -> Sequence[tuple[str, Callable[[], Any]]]:
        now = backend.now or 0
        return [
            ("lengths that differ", lambda: backend.update([now, now], [1])),
            ("a time that goes back", lambda: backend.update([now - 1], [1])),
            ("a value that is not a whole number", lambda: backend.update([now], [0.5])),
            ("a value that is too large", lambda: backend.update([now], [2**40])),
            ("a moment before what is kept", lambda: backend.mean(now - backend.longest - 1)),
            ("half a tick", lambda: backend.mean(0.5)),  # type: ignore[arg-type]
        ]


DRIVER = MineDriver()
