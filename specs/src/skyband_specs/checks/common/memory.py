"""What a backend retains depends on what is valid, not on how long it has run."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from skyband_specs.check import Make, check, expect
from skyband_specs.driver import Case
from skyband_specs.reachable_memory import weight

COUNT = 1
PARTS = 8
EARLY = 2
"""A stream is fed in PARTS parts; what is retained after the first EARLY of them counts as settled."""

FACTOR = 2.0
"""The allowed growth afterwards: growth with the stream would be PARTS / EARLY = 4."""

SLACK = {"items retained": 64, "bytes of state": 1 << 16, "bytes of a snapshot": 1 << 16, "bytes in memory": 1 << 14}
"""Additional allowance. The last two measures do not rely on what the backend reports."""


@check("memory")
def check_steady_stream_holds_steady_memory(make: Make, case: Case) -> None:
    """Items retained, bytes of state, of a snapshot and in memory stay bounded in a steady stream."""
    stream = case.driver.steady(case)
    backend = make()
    sizes = []
    for start, stop in parts(len(stream)):
        case.driver.feed(backend, stream, start, stop)
        sizes.append(retained(case, backend))
    expect_steady(sizes, f"{len(stream)} rows whose valid content stays the same in size")
    expect(sizes[-1][1] > 0, f"nbytes is {sizes[-1][1]} for a backend that has been fed {len(stream)} rows")


def parts(rows: int) -> list[tuple[int, int]]:
    """The parts in which to feed a long stream: (start, stop) each."""
    return list(pairwise(np.linspace(0, rows, PARTS + 1).astype(int).tolist()))


def retained(case: Case, backend: Any) -> tuple[int, ...]:
    """What a backend retains, in each of the measures of SLACK."""
    return len(backend), backend.nbytes, len(backend.snapshot()) if case.has("snapshot") else 0, weight(backend)


def expect_steady(sizes: Sequence[tuple[int, ...]], over: str) -> None:
    """Fail where the retained content grew with the stream."""
    for what, sums in zip(SLACK, zip(*sizes, strict=True), strict=False):
        early = max(sums[:EARLY])
        grew = f"{what} grew from {early} to {max(sums)} over {over}: {list(sums)}"
        expect(max(sums) <= FACTOR * early + SLACK[what], grew)
