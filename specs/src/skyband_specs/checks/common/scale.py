"""Large streams behave like small ones, past every size at which a backend may change its method."""

from itertools import pairwise
from typing import Any

from skyband_specs.check import Make, check, difference, expect_equal
from skyband_specs.driver import Case, Trial

COUNT = 2
SOME = 37
"""Rows of the small batches, in the check that cuts a stream."""


@check("scale", guarantees=("exact",), once=True, tries="trials")
def check_large_streams_equal_a_fast_oracle(make: Make, case: Case) -> None:
    """Large k, windows, sets and numbers of keys, thousands of rows: equal to a fast oracle."""
    for trial in case.driver.trials(case):
        backend = make(**trial.parameters)
        before = 0
        for stop in trial.stops:
            trial.feed(backend, before, stop)
            got, expected = trial.answers(backend, stop), trial.expected(stop)
            if not trial.same(got, expected):  # the difference is only computed on failure
                message = f"{_named(trial)}, after {stop} of {len(trial.stream)} rows, by the oracle"
                raise AssertionError(f"{message}: {difference(got, expected)}")
            before = stop


@check("scale", once=True, tries="trials")
def check_large_streams_cut_and_restored(make: Make, case: Case) -> None:
    """A large stream gives the same in other batches, and when restored on the way."""
    for trial in case.driver.trials(case):
        rows = len(trial.stream)
        whole, cut = make(**trial.parameters), make(**trial.parameters)
        trial.feed(whole, 0, rows)
        cuts = (0, 1, SOME, 2 * SOME, rows // 3, rows // 3 + 1, rows * 2 // 3, rows - SOME, rows)
        places = sorted({min(max(place, 0), rows) for place in cuts})
        for number, (start, stop) in enumerate(pairwise(places)):
            trial.feed(cut, start, stop)
            if number % 2 and case.has("snapshot"):
                cut = case.restore(cut.snapshot())
        for what in ("len", "snapshot", "answers"):
            got, expected = (_visible(case, trial, backend, what) for backend in (cut, whole))
            expect_equal(got, expected, f"{_named(trial)}, cut after rows {places[1:-1]} and restored: {what}")


def _visible(case: Case, trial: Trial, backend: Any, what: str) -> Any:
    if what == "len":
        return len(backend)
    if what == "answers":
        return trial.answers(backend, len(trial.stream))
    return backend.snapshot() if case.has("snapshot") else b""


def _named(trial: Trial) -> str:
    return f"{trial.label} {dict(trial.parameters)}" if trial.parameters else trial.label
