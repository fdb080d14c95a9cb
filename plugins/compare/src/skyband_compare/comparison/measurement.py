"""Runs one backend over steps and measures its answers, its time at every moment, and its memory."""

import gc
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field
from skyband.arrays import TIME_MAX, Float64, Int64
from skyband.errors import ConfigError, SkybandError
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.registry import Binding, choose
from skyband.registry.module_import import cause

from skyband_compare.comparison.candidates import Choice
from skyband_compare.comparison.instrumentation import Watch, Watched
from skyband_compare.comparison.replay_steps import Steps

SAMPLES = 200
"""The most moments at which memory is measured."""
WARM_UP = 3.0
"""Seconds after which warming up stops."""

Progress = Callable[[Choice, float], None]


@define(eq=False)
class Measured:
    """The measurements of one backend. If it failed, `failed` says why and the rest is empty."""

    choice: Choice
    binding: Binding | None = None
    failed: str | None = None
    rows: int = 0
    stopped: bool = False
    """Whether its time was up before its rows were."""
    seconds: float = 0.0
    """Seconds in the operator, including the backend."""
    own_seconds: float = 0.0
    """Seconds in the backend alone."""
    first_call: float = 0.0
    """How many seconds longer its first run took than the second: importing, and compiling or loading kernels."""
    latencies: Float64 = field(factory=lambda: np.empty(0))
    """float64[m]: seconds per moment, from its last row to its answer, for steps with rows or answers."""
    sampled_at: Int64 = field(factory=lambda: np.empty(0, np.int64))
    """int64[p]: moments at which memory was measured."""
    retained: Int64 = field(factory=lambda: np.empty(0, np.int64))
    nbytes: Int64 = field(factory=lambda: np.empty(0, np.int64))
    snapshot_bytes: int | None = None
    """At the end; None if it has no snapshots."""
    parameters: Mapping[str, Any] = field(factory=dict)
    answers: pa.Table | None = None
    reached: int = 0
    """The last moment that it has answered."""

    @property
    def rate(self) -> float:
        """Rows per second in the operator."""
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def own_rate(self) -> float:
        """Rows per second in the backend alone."""
        return self.rows / self.own_seconds if self.own_seconds else 0.0


def measure(
    choice: Choice, role: str, steps: Steps, others: Mapping[str, Any], seconds: float, progress: Progress
) -> Measured:
    """Run a backend twice over the steps, first to warm up, and measure for at most `seconds`.

    `others`: the backends of the query's other roles. Anything that the backend raises is recorded as its failure.
    """
    try:
        binding = choose([role], {role: choice.table})[role]
        watch = Watch()
        bindings = bind(steps.query, steps.schema, {**others, role: Watched.of(binding, watch)})
        imported = watch.seconds
        cold = _run(Operator(steps.query, bindings, steps.schema), watch, steps, min(WARM_UP, seconds), None)
        gc.collect()
        operator = Operator(steps.query, bindings, steps.schema)
        run = _run(operator, watch, steps, seconds, lambda share: progress(choice, share))
        return run.measured(choice, binding, watch, imported + cold.longer_than(run))
    except (Exception, SystemExit) as error:  # a backend may raise anything, and we report it
        reason = "; ".join(map(str, error.problems)) if isinstance(error, ConfigError) else ""
        reason = reason or (str(error) if isinstance(error, SkybandError) else cause(error))
        return Measured(choice, failed=re.sub(rf"^{role}/\S+ of \S+ failed: ", "", reason))  # its row has its name


@contextmanager
def passed_over_by_collections() -> Iterator[None]:
    """Exclude existing objects from garbage collection, which would take tenths of a second in the middle of a
    measurement.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@define(eq=False)
class _Run:
    steps: Steps
    taken: list[float] = field(factory=list)
    own: list[float] = field(factory=list)
    busy: list[bool] = field(factory=list)
    """bool[s]: whether a step had rows or answers."""
    sizes: list[tuple[int, int, int]] = field(factory=list)
    answers: list[pa.RecordBatch] = field(factory=list)

    def longer_than(self, other: "_Run") -> float:
        """How many seconds longer its backends took than those of another run, over the steps of both."""
        both = min(len(self.own), len(other.own))
        return max(0.0, sum(self.own[:both]) - sum(other.own[:both]))

    def measured(self, choice: Choice, binding: Binding, watch: Watch, first_call: float) -> Measured:
        steps, steps_done = self.steps, len(self.taken)
        latencies = np.array(self.taken)[np.array(self.busy, bool)] / max(steps.each, 1)
        at, retained, nbytes = np.array(self.sizes, np.int64).reshape(-1, 3).T
        finished = steps_done == len(steps)
        return Measured(
            choice,
            binding,
            rows=int(steps.cuts[steps_done]),
            stopped=not finished,
            seconds=sum(self.taken),
            own_seconds=sum(self.own),
            first_call=first_call,
            latencies=latencies,
            sampled_at=at,
            retained=retained,
            nbytes=nbytes,
            snapshot_bytes=_snapshot_bytes(binding, watch),
            parameters=dict(watch.parameters),
            answers=pa.Table.from_batches(self.answers),
            reached=TIME_MAX if finished else steps.end(steps_done - 1),
        )


def _run(operator: Operator, watch: Watch, steps: Steps, seconds: float, progress: Any) -> _Run:
    run = _Run(steps)
    sampled = -(-len(steps) // SAMPLES)
    began = time.monotonic()
    for step in range(len(steps)):
        rows, last = steps.rows(step), step == len(steps) - 1
        own, started = watch.seconds, time.perf_counter()
        operator.add(rows)
        answers = operator.finish(steps.latest) if last else operator.advance(int(steps.watermarks[step]))
        run.taken.append(time.perf_counter() - started)
        run.own.append(watch.seconds - own)
        run.busy.append(len(rows) > 0 or len(answers) > 0)
        run.answers.append(answers)
        if step % sampled == 0 or last:
            run.sizes.append((steps.end(step), *watch.size()))
        if progress is not None:
            progress((step + 1) / len(steps))
        if time.monotonic() - began > seconds:
            break
    return run


def _snapshot_bytes(binding: Binding, watch: Watch) -> int | None:
    if "snapshot" in binding.info.lacks:
        return None
    return sum(len(backend.snapshot()) for backend in watch.alive())
