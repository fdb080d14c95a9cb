"""Drives a total-ranker for the common checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from attrs import evolve
from skyband import BackendInfo
from skyband.registry.module_import import load
from skyband_specs.driver import Case, Driver, Trial
from skyband_specs.odd_streams import NAMES, numbered

from skyband_totals.conformance import trials
from skyband_totals.conformance.oracle import TotalOracle
from skyband_totals.conformance.plain_data import columns, exactly, plain, rows_of
from skyband_totals.conformance.streams import TotalStream, bursts, many, steady, tiny

STEADY_ROWS = 24_000
MOMENTS = 6
ODD_ROWS = 60
FARTHEST = 2**62


class TotalRankerDriver(Driver):
    """Feeds (times, objects, weights or values), and queries tops at future moments and since past ones."""

    role: ClassVar[str] = "total-ranker"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """All kinds of total of the backend, all limits of answers, both clocks; panes of 1 and more, k above n.

        `epsilon` and `delta` are coarse, so that bounds that hold too rarely are noticed.
        """
        sets: list[Mapping[str, Any]] = [
            {"windows": (2, 4), "every": 2, "k": 2, "total": "sum", "unit": 0.1, "epsilon": 0.25},
            {"windows": (3,), "every": 1, "k": 1, "total": "rows", "epsilon": 0.1, "delta": 0.1},
            {"windows": (40, 10, 20), "every": 5, "k": 3, "total": "distinct", "epsilon": 0.1},
            {"windows": (30,), "every": 10, "share": 0.25, "total": "rows", "epsilon": 0.2},
            {"windows": (12, 60), "every": 6, "share": 0.05, "k": 5, "total": "sum", "epsilon": 0.1, "delta": 0.2},
            {"windows": (50, 20), "every": 10, "k": 100, "total": "rows", "by": "rows"},
            {"windows": (16,), "every": 4, "share": 0.5, "total": "distinct", "by": "rows"},
            {"windows": (40, 10), "every": 5, "at_least": 3, "total": "rows", "epsilon": 0.1},
            {"windows": (20,), "every": 4, "at_least": 1.1, "k": 3, "total": "sum", "unit": 0.1, "epsilon": 0.1},
            {"windows": (24, 12), "every": 12, "at_least": 2, "share": 0.02, "total": "distinct", "epsilon": 0.1},
        ]
        totals = load(info.factory, info.key).totals
        return [parameters for parameters in sets if parameters["total"] in totals]

    def tiny(self, case: Case) -> Iterator[TotalStream]:
        """All streams with a few rows of two objects."""
        return tiny(case.parameters.get("unit", 1.0))

    def seeded(self, case: Case, seed: int) -> TotalStream:
        """Ties, drift, bursts, gaps, weights of all sizes."""
        return bursts(seed, case.parameters.get("unit", 1.0))

    def steady(self, case: Case) -> TotalStream:
        """Ever new objects, each of which soon disappears."""
        return steady(case.parameters.get("unit", 1.0), STEADY_ROWS)

    def odd(self, case: Case) -> Iterator[tuple[str, TotalStream]]:
        """Objects and values that are partly equal, times as far from 0 as allowed."""
        unit = case.parameters.get("unit", 1.0)
        rows = bursts(4, unit, ODD_ROWS)
        for label, name in NAMES.items():
            yield f"objects {label}", evolve(rows, objects=name(numbered(rows.objects)))
            yield f"values {label}", evolve(rows, values=name(numbered(rows.values)).astype(np.uint64))
        yield "150 objects at once", many(unit)
        if case.parameters.get("by") != "rows":
            yield "the earliest times", evolve(rows, times=rows.times - rows.times[0] - FARTHEST)
            room = int(rows.times[-1] - rows.times[0]) + 3 * max(case.parameters["windows"])
            yield "the latest times", evolve(rows, times=rows.times - rows.times[0] + FARTHEST - room)
            yield "times where float64 has gaps", evolve(rows, times=rows.times + 2**55 + 1)

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large streams, compared with sums over all rows."""
        return trials.trials(case)

    def feed(self, backend: Any, stream: TotalStream, start: int, stop: int) -> None:
        """One update."""
        times, *_ = rows = columns(backend, stream, start, stop)
        weights, values = rows[2:]
        backend.update(times, rows[1], weights=weights, values=values)

    def answers(self, backend: Any, stream: TotalStream, stop: int) -> list[Any]:
        """`now`, the tops of every window at some moments from now on, and since some earlier ones."""
        answers: list[Any] = [backend.now]
        later = deepcopy(backend)
        for at in moments(backend, backend.grain):
            later.advance(at)
            answers += [(at, place, *plain(later.top(place))) for place in range(len(backend.windows))]
        answers += [(begin, *plain(backend.since(begin))) for begin in beginnings(backend, backend.grain)]
        return answers

    def expected(self, case: Case, stream: TotalStream, stop: int) -> list[Any]:
        """The same, by definition."""
        model = case.make()
        oracle = TotalOracle(case.parameters, rows_of(model, stream, stop))
        last = oracle.rows[-1][0] if oracle.rows else None
        model._now = None if last is None else last + (model.by == "rows")
        model._last = last
        answers: list[Any] = [model.now]
        for at in moments(model, model.grain):
            windows = enumerate(model.windows)
            answers += [(at, place, *exactly(oracle.answer(at - window, at))) for place, window in windows]
        answers += [(begin, *exactly(oracle.answer(begin, 2**63))) for begin in beginnings(model, model.grain)]
        return answers

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Invalid weights, values, times and moments, lengths and dtypes."""
        times = backend.now + int(backend.by == "rows") * np.arange(3)
        good: dict[str, Any] = {"times": times, "objects": np.arange(3)}
        if backend.total == "sum":
            good["weights"] = np.full(3, backend.unit)
        if backend.total == "distinct":
            good["values"] = np.arange(3, dtype=np.uint64)

        def update(**wrong: Any) -> Callable[[], Any]:
            return lambda: backend.update(**{**good, **wrong})

        moment = (backend.now // backend.grain + 2) * backend.grain
        calls = [
            ("fewer objects than times", update(objects=np.arange(2))),
            ("an object that is not whole", update(objects=[1, 2.5, 3])),
            ("objects that are text", update(objects=np.array(["a", "b", "c"]))),
            ("a time before now", update(times=times - 1)),
            ("a time that goes back within the batch", update(times=times + np.array([0, 2, 1]))),
            ("times in two dimensions", update(times=times.reshape(3, 1))),
            ("weights that are not expected", update(weights=np.ones(3), values=good.get("values", np.ones(3)))),
            ("an advance to before now", lambda: backend.advance(backend.now - 1)),
            ("an advance past 64 bits", lambda: backend.advance(2**63)),
            ("an advance by a fraction", lambda: backend.advance(backend.now + 0.5)),
            ("a window that does not exist", lambda: backend.top(len(backend.windows))),
            ("a negative window", lambda: backend.top(-1)),
            ("since a fraction", lambda: backend.since(backend.now + 0.5)),
            ("since a forgotten moment", lambda: backend.since(moment - 3 * backend.grain - 3 * backend.longest)),
            ("a moment before now", lambda: backend.answers(**good, moments=[backend.now - 1])),
            ("moments that go back", lambda: backend.answers(**good, moments=[moment + backend.grain, moment])),
        ]
        if backend.by == "time":
            calls.append(("a time beyond 2^62", update(times=[times[0], times[1], 2**62 + 1])))
            calls.append(("a top before the last row", lambda: backend.top(0)))
        if backend.grain > 1:
            calls.append(("since a moment inside a pane", lambda: backend.since(moment - 2 * backend.grain + 1)))
            calls.append(("a moment inside a pane", lambda: backend.answers(**good, moments=[moment + 1])))
        for total, key in (("sum", "weights"), ("distinct", "values")):
            if backend.total == total:
                calls.append((f"no {key}", update(**{key: None})))
                calls.append((f"fewer {key} than times", update(**{key: good[key][:2]})))
        if backend.total == "sum":
            wrong = {"negative": -1.0, "NaN": np.nan, "infinite": np.inf, "beyond 2^53": 2.0**54, "not a multiple": 0.5}
            calls += [
                (f"a weight that is {what}", update(weights=good["weights"] * value)) for what, value in wrong.items()
            ]
        return calls


def moments(backend: Any, grain: int) -> list[int]:
    """Moments at which all rows can be answered, until everything has expired."""
    if backend._last is None:
        return []
    first = max(backend.now, backend._last + 1)
    ends = {first, *(backend._last + step + window for window in backend.windows for step in (-1, 0, 1))}
    marks = sorted({max(-(-end // grain), -(-first // grain)) * grain for end in ends})
    return marks[:: max(1, len(marks) // MOMENTS)]


def beginnings(backend: Any, grain: int) -> list[int]:
    """Moments since which nothing has been forgotten."""
    if backend.now is None:
        return []
    oldest = -(-(backend.now - backend.longest) // grain) * grain
    steps = (backend.now - oldest) // grain + 2
    return [oldest + grain * step for step in sorted({0, 1, steps // 3, steps // 2, steps - 2, steps - 1})]


DRIVER = TotalRankerDriver()
"""The driver of this role for `skyband_specs`."""
