"""Exact backends answer as defined."""

from itertools import pairwise

import numpy as np

from skyband_specs.batching import fed, sampled, seeded
from skyband_specs.check import Make, check, difference
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.stream import Stream

COUNT = 4
ODD_PARTS = 6
MOST_TINY = 200
"""The most tiny streams for each parameter set except the first, which is tried on all of them."""


@check("oracle", guarantees=("exact",))
def check_tiny_streams_equal_the_oracle(make: Make, case: Case) -> None:
    """On every short stream over a tiny alphabet; on a sample of them for later parameter sets."""
    streams = case.driver.tiny(case) if case.first else sampled(case, MOST_TINY)
    holds_for(case, streams, lambda stream: _right_at(make, case, stream, len(stream)))


@check("oracle", guarantees=("exact",))
def check_seeded_streams_equal_the_oracle(make: Make, case: Case) -> None:
    """At the end of longer random streams."""
    holds_for(case, seeded(case), lambda stream: _right_at(make, case, stream, len(stream)))


@check("oracle", guarantees=("exact",))
def check_every_moment_equals_the_oracle(make: Make, case: Case) -> None:
    """Throughout a random stream: after every few rows, not only at the end."""

    def law(stream: Stream) -> None:
        backend = make()
        step = max(1, len(stream) // 40)
        for start in range(0, len(stream), step):
            stop = min(start + step, len(stream))
            case.driver.feed(backend, stream, start, stop)
            _compare(case, case.driver.answers(backend, stream, stop), stream, stop)

    holds_for(case, seeded(case, (1,)), law)


@check("oracle", guarantees=("exact",), tries="odd")
def check_odd_streams_equal_the_oracle(make: Make, case: Case) -> None:
    """Names with equal bits, values one unit in the last place apart, both ends of time and of floats."""
    for label, odd in case.driver.odd(case):

        def law(stream: Stream, label: str = label) -> None:
            backend = make()
            for start, stop in pairwise(np.linspace(0, len(stream), ODD_PARTS + 1).astype(int).tolist()):
                case.driver.feed(backend, stream, start, stop)
                _compare(case, case.driver.answers(backend, stream, stop), stream, stop, f"{label}: ")

        holds_for(case, [odd], law)


def _right_at(make: Make, case: Case, stream: Stream, stop: int) -> None:
    _compare(case, case.driver.answers(fed(make, case, stream), stream, stop), stream, stop)


def _compare(case: Case, got: object, stream: Stream, stop: int, label: str = "") -> None:
    expected = case.driver.expected(case, stream, stop)
    if not case.driver.same(case, got, expected):  # the difference is only computed on failure
        raise AssertionError(f"{label}after {stop} rows, by the oracle: {difference(got, expected)}")
