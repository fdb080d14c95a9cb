"""The trial of an engine: what it is tried with, and how the checks use it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar

import pyarrow as pa
from attrs import evolve, frozen
from skyband.engines.engine import InProcessEngine, Run
from skyband.engines.local import LocalRun, in_order
from skyband.errors import ConfigError, Problem
from skyband.operator.operator import Operator
from skyband.queries.query import Query
from skyband.registry import Binding

from skyband_specs.queries.case import cut

Steps = Iterator[tuple[Run, pa.Table]]


@frozen(eq=False)
class EngineCase:
    """A query for an engine: its rows in the order they arrive, cut into batches before some of them."""

    name: str
    query: Query
    bindings: Mapping[str, Binding]
    rows: pa.Table
    cuts: tuple[int, ...] = ()
    rules: pa.Table | None = None
    """The query's second table, which arrives before the first row."""

    @property
    def batches(self) -> list[pa.RecordBatch]:
        """The rows as they arrive."""
        return cut(self.rows, self.cuts)

    def reference(self) -> Run:
        """A run of the local engine that has the rules but no row yet."""
        return self._with_rules(LocalRun(Operator(self.query, self.bindings, self.rows.schema)))

    def begun_on(self, engine: InProcessEngine) -> Run:
        """The same run on another engine."""
        return self._with_rules(engine.begin(self.query, self.bindings, self.rows.schema))

    def _with_rules(self, run: Run) -> Run:
        if self.rules is not None:
            run.broadcast(self.rules)
        return run

    def restored_on(self, engine: InProcessEngine, blob: bytes) -> Run:
        """A run that continues from a snapshot."""
        run = engine.begin(self.query, self.bindings, self.rows.schema)
        run.restore(blob)
        return run

    def in_order(self, answers: pa.RecordBatch | pa.Table) -> pa.Table:
        """Answers sorted by moment and group, otherwise in their original order."""
        whole = pa.Table.from_batches([answers]) if isinstance(answers, pa.RecordBatch) else answers
        return in_order(self.query, whole) if len(whole) else whole

    def batch_on(self, run: Run) -> pa.Table:
        """The answers to all rows, none of which is late."""
        for batch in self.batches:
            run.add(batch)
        return self.in_order(run.finish())

    def stream_on(self, run: Run) -> pa.Table:
        """The answers to the rows as they arrive, up to the last watermark."""
        answers = [run.push(batch) for batch in self.batches]
        return self.in_order(pa.Table.from_batches(answers, run.result_schema))

    def with_cuts(self, *cuts: int) -> "EngineCase":
        """The same case, cut elsewhere."""
        return evolve(self, cuts=cuts)


class EngineTrial(ABC):
    """How the checks use an engine of another process. `EngineInfo.trial` names its class, which is created
    without arguments."""

    most: ClassVar[int | None] = None
    """The number of queries of each sort that a check tries, each of another kind; None: all queries."""

    @abstractmethod
    def batch(self, case: EngineCase) -> pa.Table:
        """The answers to all rows as a bounded input, in any order, with the columns and types of the reference."""

    @abstractmethod
    def stream(self, case: EngineCase, stop: int | None = None) -> pa.Table:
        """The answers to the batches as they arrive, up to the last watermark.

        stop: after this many batches the stream ends, and another resumes from its state.
        """


class InProcessTrial(EngineTrial):
    """An `InProcessEngine`, started and fed by the checks themselves."""

    def __init__(self, engine: InProcessEngine) -> None:
        self.engine = engine

    def batch(self, case: EngineCase) -> pa.Table:
        """Feed it as a job does: rows, then the end."""
        return case.batch_on(case.begun_on(self.engine))

    def stream(self, case: EngineCase, stop: int | None = None) -> pa.Table:
        """Save and restore it after batch `stop`."""
        run, answers = case.begun_on(self.engine), []
        for number, batch in enumerate(case.batches):
            if number == stop:
                run = case.restored_on(self.engine, run.snapshot())
            answers.append(run.push(batch))
        return case.in_order(pa.Table.from_batches(answers, run.result_schema))


@frozen
class EngineSubject:
    """An engine under test, installed or not: its key, and its class and trial, each as "package.module:Class"."""

    name: str
    factory: str
    trial: str | None = None

    def engine(self) -> Any:
        """A new engine."""
        return _load(self.factory)()

    def trials(self) -> EngineTrial:
        """The trial. Raises ConfigError where the engine runs in another process and names none."""
        if self.trial is not None:
            trial: EngineTrial = _load(self.trial)()
            return trial
        engine = self.engine()
        if isinstance(engine, InProcessEngine):
            return InProcessTrial(engine)
        message = f"{self.name} is not an InProcessEngine: name its trial in EngineInfo(trial=…)"
        raise ConfigError(Problem("engine", message))


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
