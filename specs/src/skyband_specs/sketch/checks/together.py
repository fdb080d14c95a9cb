"""Several sketches that take their turns in one call equal those called alone."""

from typing import Any

import numpy as np
from skyband.arrays import TIME_MIN, Int64

from skyband_specs.batching import seeded
from skyband_specs.check import Make, check
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.together import TurnsTogether

COUNT = 1

_WINDOWS = 40, 7
"""In multiples of the sketch's grain."""


class _Together(TurnsTogether):
    """Turns of sketches: the windows of each moment start this long before it."""

    def columns(self, backend: Any, stream: Any, start: int, stop: int) -> list[Any]:
        return [stream.times[start:stop] * backend.grain, stream.keys[start:stop]]

    def moments(self, backend: Any, times: Any, until: int) -> Int64:
        marks: Int64 = np.unique(np.append(times[::3] + backend.grain, until - until % backend.grain))
        return marks[marks <= until]

    def alone(self, backend: Any, columns: Any, moments: Any) -> list[Any]:
        counts, start = [], 0
        for at in moments.tolist():
            stop = int(columns[0].searchsorted(at))
            backend.update(*(column[start:stop] for column in columns))
            counts += [list(backend.estimate_with_bounds(begin)) for begin in _begins(backend, at)]
            backend.forget(min(_begins(backend, at)))
            start = stop
        backend.update(*(column[start:] for column in columns))
        return counts

    def together(self, backends: list[Any], columns: Any, spans: Any, moments: Any) -> list[Any]:
        since = {at: _begins(backends[0], at) for own in moments for at in own.tolist()}
        call = type(backends[0]).counts_together
        counts: list[Any] = call(backends, *columns, spans=spans, moments=moments, since=since).tolist()
        return counts

    def wrong_turns(self, backend: Any, turn: Any) -> Any:
        times, moments = self.columns(backend, *turn[:3])[0], turn.moments
        for fault, *wrong in super().wrong_turns(backend, turn):
            if fault in ("a time that goes back", "moments that go back") or (fault[0] == "t" and backend.ordered):
                yield fault, *wrong
        if len(times):
            yield "the time that stands for never", np.append(TIME_MIN, times[1:]), moments
        if len(moments) and backend.grain > 1:
            yield "a moment inside a pane", times, moments + 1


def _begins(backend: Any, at: int) -> list[int]:
    return [at - length * backend.grain for length in _WINDOWS]


@check("batch-split")
def check_several_together_answer_as_each(make: Make, case: Case) -> None:
    """Sketches that take their turns in one call, each with its rows and moments, equal those called alone."""

    def law(stream: Any) -> None:
        _Together().expect_as_each(make, case, stream.take(np.argsort(stream.times, kind="stable")))

    holds_for(case, seeded(case, (1, 2)), law)
