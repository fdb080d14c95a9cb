"""The results of a comparison: backends measured on one stream or several, also as plain data."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from skyband_compare.comparison.accuracy import Accuracy, accuracy, upto
from skyband_compare.comparison.candidates import Choice
from skyband_compare.comparison.measurement import Measured, Progress, measure, passed_over_by_collections
from skyband_compare.comparison.moment_bins import grid, on_grid
from skyband_compare.comparison.replay_steps import Steps


@frozen(eq=False)
class Entry:
    """One backend on one stream."""

    measured: Measured
    accuracy: Accuracy | None
    """None if it or the reference failed."""
    is_reference: bool

    @property
    def label(self) -> str:
        """The name of the backend."""
        return self.measured.choice.label


@frozen(eq=False)
class Case:
    """Backends on one stream."""

    title: str
    rows: int
    moments: int
    moment: str
    """What a latency refers to."""
    in_rows: bool
    """Whether moments are numbers of rows, not times."""
    entries: tuple[Entry, ...]
    window: float | None = None
    """The window, which differs between the cases of a bench."""

    @property
    def reference(self) -> Entry:
        """The backend whose answers the others are compared with."""
        return next(entry for entry in self.entries if entry.is_reference)


@define(eq=False)
class Comparison:
    """One case, or several that differ in their window."""

    command: str
    """compare or bench"""
    role: str
    subject: str
    """The query in one line."""
    provenance: Mapping[str, Any]
    axis: str = ""
    """The meaning of `Case.window`, if there are several cases."""
    cases: list[Case] = field(factory=list)


def run_case(
    title: str,
    role: str,
    steps: Steps,
    choices: Sequence[Choice],
    against: Choice,
    others: Mapping[str, Any],
    seconds: float,
    progress: Progress,
    window: float | None = None,
) -> Case:
    """Measure every backend on the same steps, and compare its answers with the reference's, which runs first.

    An interrupt ends the measuring: unfinished backends say so.
    """
    order = sorted([*choices, *([] if against in choices else [against])], key=lambda choice: choice != against)
    measured: dict[str, Measured] = {}
    with passed_over_by_collections():
        for choice in order:
            try:
                measured[choice.label] = measure(choice, role, steps, others, seconds, progress)
            except KeyboardInterrupt:
                break
    reference: dict[str, Measured] = {
        choice.label: measured.get(choice.label, Measured(choice, failed=INTERRUPTED)) for choice in order
    }
    right = reference[against.label]
    shown = [*choices, *([] if against in choices else [against])]
    entries = tuple(
        Entry(reference[choice.label], _accuracy(steps, reference[choice.label], right), choice == against)
        for choice in shown
    )
    moments = len(steps) * max(steps.each, 1)
    return Case(title, int(steps.cuts[-1]), moments, steps.moment, steps.in_rows, entries, window)


INTERRUPTED = "interrupted"


def _accuracy(steps: Steps, measured: Measured, right: Measured) -> Accuracy | None:
    if measured.answers is None or right.answers is None:
        return None
    reached, by = min(measured.reached, right.reached), len(steps.query.by)
    return accuracy(steps.query, upto(measured.answers, by, reached), upto(right.answers, by, reached))


def as_data(comparison: Comparison) -> dict[str, Any]:
    """The whole comparison for JSON: seconds, bytes and shares as numbers, values that are not finite as null."""
    cases = []
    for case in comparison.cases:
        data = {"title": case.title, "window": case.window, "rows": case.rows, "moments": case.moments}
        cases.append({**data, "latency_of": case.moment, "backends": [_entry(entry) for entry in case.entries]})
    told = {"command": comparison.command, "role": comparison.role, "subject": comparison.subject}
    return _finite({**told, "cases": cases, "provenance": dict(comparison.provenance)})


def _entry(entry: Entry) -> dict[str, Any]:
    measured, binding = entry.measured, entry.measured.binding
    data: dict[str, Any] = {
        "backend": entry.label,
        "name": measured.choice.name,
        "reference": entry.is_reference,
        "failed": measured.failed,
    }
    if measured.failed is not None or binding is None:
        return data
    data |= {"guarantee": binding.info.guarantee, "distribution": f"{binding.distribution} {binding.version}"}
    data |= {"parameters": {name: _plain(value) for name, value in measured.parameters.items()}}
    data |= {
        "rows": measured.rows,
        "stopped": measured.stopped,
        "seconds": measured.seconds,
        "rows_per_second": measured.rate,
        "backend_seconds": measured.own_seconds,
        "backend_rows_per_second": measured.own_rate,
        "first_call_seconds": measured.first_call,
        "latency_median_seconds": latency(measured, 50),
        "latency_p99_seconds": latency(measured, 99),
        "retained_most": most(measured.retained),
        "retained_mean": float(measured.retained.mean()),
        "bytes_most": most(measured.nbytes),
        "snapshot_bytes": measured.snapshot_bytes,
    }
    accuracy = entry.accuracy
    if accuracy is None:
        return {**data, "accuracy": None}
    figures = {
        "measure": accuracy.measure,
        "error": accuracy.error,
        "largest": accuracy.largest,
        "rows_equal": accuracy.equal,
    }
    ends = grid(accuracy.at, MOST_POINTS)
    series = {"at": ends.tolist(), "errors": on_grid(accuracy.at, accuracy.errors, ends).tolist()}
    return {**data, "accuracy": {**figures, **accuracy.figures, **series}}


MOST_POINTS = 500
"""The most points of an error series in JSON; more neighbouring moments are merged."""


def latency(measured: Measured, percent: float) -> float:
    """A percentile of the seconds per moment."""
    return float(np.percentile(measured.latencies, percent)) if len(measured.latencies) else 0.0


def most(values: Any) -> int:
    """The largest value, 0 if there are none."""
    return int(values.max(initial=0))


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
