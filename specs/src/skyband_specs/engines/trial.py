"""What an engine is tried with, and how the checks use it."""

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
    """A query as an engine is asked it: its rows in the order they come, cut before some of them into batches."""

    name: str
    query: Query
    bindings: Mapping[str, Binding]
    rows: pa.Table
    cuts: tuple[int, ...] = ()
    rules: pa.Table | None = None
    """The query's second table, which comes before the first row."""

    @property
    def batches(self) -> list[pa.RecordBatch]:
        """The rows as they come."""
        return cut(self.rows, self.cuts)

    def reference(self) -> Run:
        """A run of the local engine, which has the rules and no row yet."""
        return self._with_rules(LocalRun(Operator(self.query, self.bindings, self.rows.schema)))

    def begun_on(self, engine: InProcessEngine) -> Run:
        """The same on another engine."""
        return self._with_rules(engine.begin(self.query, self.bindings, self.rows.schema))

    def _with_rules(self, run: Run) -> Run:
        if self.rules is not None:
            run.broadcast(self.rules)
        return run

    def restored_on(self, engine: InProcessEngine, blob: bytes) -> Run:
        """A run that goes on from a snapshot."""
        run = engine.begin(self.query, self.bindings, self.rows.schema)
        run.restore(blob)
        return run

    def in_order(self, answers: pa.RecordBatch | pa.Table) -> pa.Table:
        """Answers by moment and group, those of one moment and group in the order in which they were given."""
        whole = pa.Table.from_batches([answers]) if isinstance(answers, pa.RecordBatch) else answers
        return in_order(self.query, whole) if len(whole) else whole

    def batch_on(self, run: Run) -> pa.Table:
        """The answers to all rows, of which none is late."""
        for batch in self.batches:
            run.add(batch)
        return self.in_order(run.finish())

    def stream_on(self, run: Run) -> pa.Table:
        """The answers to the rows as they come, up to the last watermark."""
        answers = [run.push(batch) for batch in self.batches]
        return self.in_order(pa.Table.from_batches(answers, run.result_schema))

    def with_cuts(self, *cuts: int) -> "EngineCase":
        """The same, cut elsewhere."""
        return evolve(self, cuts=cuts)


class EngineTrial(ABC):
    """How the checks use an engine that is not of this process. `EngineInfo.trial` names its class, which is made
    without arguments."""

    most: ClassVar[int | None] = None
    """How many queries of each sort a check tries; None: all that the installed families bring."""

    @abstractmethod
    def batch(self, case: EngineCase) -> pa.Table:
        """The answers to all rows as a bounded input, in any order, with the columns and types of the reference."""

    @abstractmethod
    def stream(self, case: EngineCase, stop: int | None = None) -> pa.Table:
        """The answers to the batches as they come, up to the last watermark.

        stop: after so many batches the stream ends, and another begins with what that one kept.
        """


class InProcessTrial(EngineTrial):
    """An `InProcessEngine`, begun and fed by the checks themselves."""

    def __init__(self, engine: InProcessEngine) -> None:
        self.engine = engine

    def batch(self, case: EngineCase) -> pa.Table:
        """As a job feeds it: rows, then the end."""
        return case.batch_on(case.begun_on(self.engine))

    def stream(self, case: EngineCase, stop: int | None = None) -> pa.Table:
        """Saved and restored after batch `stop`."""
        run, answers = case.begun_on(self.engine), []
        for number, batch in enumerate(case.batches):
            if number == stop:
                run = case.restored_on(self.engine, run.snapshot())
            answers.append(run.push(batch))
        return case.in_order(pa.Table.from_batches(answers, run.result_schema))


@frozen
class EngineSubject:
    """An engine under test, installed or not: its key, its class and its trial's, each as "package.module:Class"."""

    name: str
    factory: str
    trial: str | None = None

    def engine(self) -> Any:
        """A new engine."""
        return _load(self.factory)()

    def trials(self) -> EngineTrial:
        """How it is tried. Raises ConfigError where it is of another process and names no trial."""
        if self.trial is not None:
            trial: EngineTrial = _load(self.trial)()
            return trial
        engine = self.engine()
        if isinstance(engine, InProcessEngine):
            return InProcessTrial(engine)
        message = f"{self.name} is no InProcessEngine: name what tries it in EngineInfo(trial=…)"
        raise ConfigError(Problem("engine", message))


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
