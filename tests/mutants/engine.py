"""Broken engines: each is the local one but for a fault, with the checks that catch it."""

from contextlib import suppress
from copy import deepcopy
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve
from skyband import SnapshotError
from skyband.engines.local import LocalRun
from skyband.engines.reference import LocalEngine
from skyband.errors import InputError
from skyband.operator.operator import Operator

REFERENCE = LocalEngine
MUTANTS = []
"""(engine, the checks that catch it)."""


def fault(*checks):
    """An engine whose runs are of this class."""

    def engine_of(run):
        def begin(self, query, bindings, schema):
            return run(Operator(query, bindings, schema))

        engine = type(f"{run.__name__}Engine", (LocalEngine,), {"begin": begin, "__module__": __name__})
        globals()[engine.__name__] = engine
        MUTANTS.append((engine, checks))
        return run

    return engine_of


def reversed_rows(answers):
    return answers.take(pa.array(range(len(answers))[::-1], pa.int64()))


@fault("a_batch_is_answered_as_by_the_reference", "each_step_is_answered_as_by_the_reference")
class LosesLastRow(LocalRun):
    """The last row of each batch is not there."""

    def add(self, batch):
        return super().add(batch.slice(0, max(len(batch) - 1, 0)))


@fault("a_stream_is_answered_as_by_the_reference", "metrics_add_up")
class IgnoresLateness(LocalRun):
    """A row after the watermark is taken as if it came just then."""

    def add(self, batch):
        name, mark = self.query.time, self.watermark
        times = batch.column(name)
        if mark is not None and pa.types.is_timestamp(times.type):
            raised = pc.max_element_wise(times, pa.scalar(mark, pa.int64()).cast(times.type), skip_nulls=False)
            batch = batch.set_column(batch.schema.names.index(name), batch.schema.field(name), raised)
        return super().add(batch)


@fault("late_rows_are_put_aside")
class KeepsLateRowsToItself(LocalRun):
    """Nobody is given the late rows."""

    def add(self, batch):
        self.on_late_rows = None
        return super().add(batch)


@fault("a_batch_is_answered_as_by_the_reference", "each_step_is_answered_as_by_the_reference")
class OtherOrder(LocalRun):
    """Answers of one group and moment come in another order."""

    def step(self, progress):
        return reversed_rows(super().step(progress))

    def finish(self):
        return reversed_rows(super().finish())


@fault(
    "a_stream_that_stops_goes_on",
    "goes_on_from_a_snapshot_after_any_step",
    "a_killed_run_goes_on_from_its_last_snapshot",
)
class ForgetsWaitingRows(LocalRun):
    """What waited for the watermark is gone after a restore."""

    def restore(self, blob):
        super().restore(blob)
        self.operator._state.waiting.drop_after(-(2**63))
        self.operator._waited = self.operator._state.waiting.own


@fault("a_stream_that_stops_goes_on", "a_killed_run_goes_on_from_its_last_snapshot")
class AnswersTwice(LocalRun):
    """After a restore the first step gives each answer twice."""

    again = False

    def restore(self, blob):
        super().restore(blob)
        self.again = True

    def step(self, progress):
        answers = super().step(progress)
        again, self.again = self.again, False
        return pa.concat_batches([answers, answers]) if again else answers


@fault("metrics_add_up")
class CountsTwice(LocalRun):
    """Metrics stand for two operators that count the same rows."""

    def take_metrics(self):
        metrics = super().take_metrics()
        return evolve(metrics, rows_in=2 * metrics.rows_in)


@fault("batches_added_before_one_step_are_answered_together")
class StepsAlone(LocalRun):
    """How far time has come is looked at in the first batch before a step."""

    first = None

    def add(self, batch):
        progress = super().add(batch)
        self.first = self.first or deepcopy(progress)
        return progress

    def step(self, progress):
        first, self.first = self.first, None
        return super().step(first)


@fault("flush_answers_to_the_end_and_goes_on")
class FlushEnds(LocalRun):
    """A flush is the end."""

    def flush(self):
        return self.finish()


@fault("no_rows_are_no_answers")
class StartsInTime(LocalRun):
    """Its watermark begins in 1970."""

    @property
    def watermark(self):
        return super().watermark or 0


@fault("bad_rows_are_counted_and_put_aside")
class LosesUnreadable(LocalRun):
    """What could not be read is not put aside."""

    def refuse(self, refused):
        kept, self.on_bad_rows = self.on_bad_rows, None
        super().refuse(refused)
        self.on_bad_rows = kept


@fault("bad_rules_are_counted_once")
class SwallowsBadRules(LocalRun):
    """A rule that cannot be taken is dropped in silence."""

    def broadcast(self, rows):
        with suppress(InputError):
            super().broadcast(rows)


@fault("the_same_rows_give_the_same_bytes")
class NumberedStates(LocalRun):
    """Each run's states begin with a number of their own."""

    made: ClassVar[int] = 0

    def snapshot(self):
        NumberedStates.made += 1
        return NumberedStates.made.to_bytes(8, "little") + super().snapshot()

    def restore(self, blob):
        super().restore(blob[8:])


@fault("other_bytes_are_refused_and_change_nothing")
class RestoresHalf(LocalRun):
    """Bytes that it does not know make it begin anew."""

    def restore(self, blob):
        try:
            super().restore(blob)
        except SnapshotError:
            self.operator = Operator(self.query, self.operator.bindings, self.schema)
            raise


@fault("a_killed_run_goes_on_from_its_last_snapshot")
class KeepsInMemory(LocalRun):
    """A snapshot is a number, and the state stays in the process."""

    states: ClassVar[dict[bytes, bytes]] = {}

    def snapshot(self):
        blob = super().snapshot()
        number = hash(blob).to_bytes(8, "little", signed=True)
        self.states[number] = blob
        return number

    def restore(self, blob):
        if blob not in self.states:
            raise SnapshotError("is of no state in this process")
        super().restore(self.states[blob])
