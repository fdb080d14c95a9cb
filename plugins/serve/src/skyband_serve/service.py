"""Runs a stream turn by turn: a turn is written down, then done; now and then the state is saved."""

import time
from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path

import pyarrow as pa
from attrs import define, evolve, field
from skyband.config.durations import parse
from skyband.engines.local import LocalRun
from skyband.errors import ConfigError, EngineError, Problem, SkybandError, SnapshotError
from skyband.operator.resharding import take_over
from skyband.queries.query import FAIL
from skyband.watermark import EventTimeProgress, Ticking
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.local.run import sorted_answers, take_metrics
from skyband_jobs.running import savepoint
from skyband_jobs.running.broadcast import all_columns
from skyband_jobs.running.checkpoint_record import check_goes_on
from skyband_jobs.running.savepoint import Savepoint, checkpoint_of, source_facts
from skyband_jobs.tables.model import AVAILABLE_NOW

from skyband_serve.checkpoint import Checkpoint, read_whole
from skyband_serve.following import follow, followed
from skyband_serve.published import Board
from skyband_serve.rows_aside import RowsAside, rows_aside
from skyband_serve.settings import ServeSettings
from skyband_serve.signals import Signals
from skyband_serve.sinks import TurnSink, open_sink
from skyband_serve.source import FollowedSource
from skyband_serve.turns import Turn
from skyband_serve.turns_of_job import answers_of, check_as_before

TRIGGER = 0.1
"""Seconds between the starts of two turns, unless `sink.trigger` says otherwise."""
_SHARE = 20
"""A savepoint is made at most each 20 times as long as it takes."""
_AGAIN = 1.0
"""Seconds between two savepoints while turns are done again, where `commit` is longer."""
_TICK = 1.0
"""Seconds between two ticks of the clock while no rows arrive."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 10.0
"""Seconds between tries to reach a sink that is away."""
_POLL = 0.01
"""Seconds between two looks for rows, besides those that a source itself waits for them."""


@define
class Service:
    """A stream that runs. All of it is rebuilt from its checkpoint."""

    job: CheckedJob
    progress: Progress
    totals: Totals
    checkpoint: Checkpoint
    run: LocalRun
    source: FollowedSource
    rules: FollowedSource | None
    settings: ServeSettings
    board: Board
    signals: Signals
    """Whether the stream is to end, or its job to be read again: looked at between turns."""
    number: int = field(default=0, init=False)
    """The last turn that was done."""
    _saved: int = field(default=0, init=False)
    """The turn after which the state was saved last."""
    _saved_at: float = field(factory=time.monotonic, init=False)
    _saving: float = field(default=0.0, init=False)
    """Seconds that the last savepoint took."""
    _started: int = field(init=False)
    """The clock when this run started; its ticks are counted from there, whatever the clock is set to meanwhile."""
    _started_at: float = field(factory=time.monotonic, init=False)
    _ticked_at: float = field(default=0.0, init=False)
    _has_rules: bool = field(default=False, init=False)
    """Whether all rules were read that were there at the start: rows wait for them."""
    _is_job_noted: bool = field(default=False, init=False)
    """Whether a turn of this run, since the last savepoint, has noted the job."""
    _sink: TurnSink = field(init=False)
    _asides: list[RowsAside] = field(init=False)

    @classmethod
    def start(
        cls,
        job: CheckedJob,
        checkpoint: Checkpoint,
        progress: Progress,
        settings: ServeSettings,
        board: Board,
        signals: Signals,
    ) -> "Service":
        """From the newest whole savepoint, with the turns after it done again.

        Raises SnapshotError where no savepoint is whole, ConfigError where the sink has answers of others.
        """
        assert checkpoint.stream is not None
        failures, is_new = list[SnapshotError](), not checkpoint.has_turns
        for folder, turns in checkpoint.starts():
            source = followed(job)
            rules = None if job.broadcast is None else follow(all_columns(job.broadcast, job.query), None)
            totals = Totals.of(job, micro_batches=0, may_be_empty=not is_new)
            run = job.begin_here()
            service = cls(job, progress, totals, checkpoint, run, source, rules, settings, board, signals)
            try:
                saved = None if folder is None else service._seek(folder)
            except SnapshotError as error:
                failures.append(error)
                continue
            check_as_before(job, turns)
            if saved is not None:
                service._restore(*saved)
            for failure in failures:
                progress.note(f"warning: {failure}; the one before it is used, with the turns since")
            service._open_sinks(checkpoint.stream, is_new)
            service._check_sinks(turns[-1].number if turns else service.number)
            service._restore_states()
            service._redo(turns)
            for reader in (source, rules):
                if reader is not None and service._ends:
                    reader.stop_at_end()
            service._start_clock()
            return service
        raise failures[-1] if failures else SnapshotError(f"{str(checkpoint.folder)!r} has turns, but no savepoint")

    def _restore_states(self) -> None:
        """Publish the states that the port answered from before the start."""
        try:
            self.board.restore_states(self.checkpoint.states_file)
        except SnapshotError as error:
            self.progress.note(f"warning: {error}; /ask answers after the next moment")

    def _redo(self, turns: Iterable[Turn]) -> None:
        """Do turns again. Their state is saved often, so that a start that is killed each time comes to an end."""
        for turn in turns:
            if self.signals.stop:
                return
            self._do(turn)
            self._save_now_and_then(_AGAIN)

    def _restore(self, contents: Savepoint, snapshots: list[bytes]) -> None:
        """Take the state of a savepoint. Raises SnapshotError where that is of another job."""
        if len(snapshots) == 1 and contents.query == self.job.query:
            self.run.restore(snapshots[0])
        else:
            states = take_over(snapshots, contents.query, lambda _: self.job.begin_here().operator, 1)
            self.run.restore(states[0].snapshot())

    def _seek(self, folder: Path) -> tuple[Savepoint, list[bytes]]:
        """Move the sources to where a savepoint was made. Raises SnapshotError where any of it is damaged."""
        contents, snapshots = read_whole(folder)
        for reader, position in ((self.source, contents.position), (self._second, contents.second)):
            if reader is not None and position is not None:
                reader.resume(position)
        self.number = self._saved = int(folder.name)
        return contents, snapshots

    @property
    def _second(self) -> FollowedSource | None:
        """The source besides the first that has its own position."""
        return self.rules or self.source.second

    def _open_sinks(self, stream: str, is_new: bool) -> None:
        schema = self.run.result_schema
        self._sink = open_sink(self.job, stream, is_new, schema, self.progress)
        self._asides = rows_aside(self.job, self.run, stream, is_new, self.progress)

    def _start_clock(self) -> None:
        """Count ticks from now, or from the last one, if the clock was set back since."""
        self._started = max(time.time_ns() // 1000, self.run.operator.progress.tick)
        self._started_at = time.monotonic()

    def _check_sinks(self, last: int) -> None:
        """Raise SnapshotError where a sink has a later turn than the last one: it would take no other in its place."""
        latest = max(each or 0 for each in (self._sink.latest(), *(aside.latest() for aside in self._asides)))
        if latest > last:
            message = f"a sink has turn {latest}, but the checkpoint {str(self.checkpoint.folder)!r} ends with {last}"
            remedy = "it is an older copy, or lost turns with the power: restore the newest one"
            raise SnapshotError(f"{message}: {remedy}, or start over with a new checkpoint and a new sink")

    def reloaded(self, read_again: Callable[[], CheckedJob]) -> "Service":
        """The service of the job as it is now, from the state just saved; this one where the job must not change so."""
        self.progress.note("reading the job again")
        if self.number > self._saved:
            self.progress.note("warning: the job stays as it was: its state could not be saved")
            return self
        try:
            job = read_again()
            if checkpoint_of(job) != self.checkpoint.folder:
                raise ConfigError(Problem("sink.checkpoint", "cannot change while the stream runs: stop it first"))
            check_goes_on(job, self.checkpoint.folder, "serve", has_begun=True)
            after = self.start(job, self.checkpoint, self.progress, self.settings, self.board, self.signals)
        except SkybandError as error:
            self.progress.note(f"warning: the job stays as it was: {error}")
            return self
        self.close()
        after.totals, self.board.job = self.totals, job
        self.progress.note("the job has changed" if job.query != self.job.query else "the job was read")
        return after

    def close(self) -> None:
        """Close what it reads."""
        for reader in (self.source, self.rules):
            if reader is not None:
                reader.close()

    @property
    def _ends(self) -> bool:
        """Whether it ends when everything available is done."""
        return self.job.sink.trigger == AVAILABLE_NOW

    def serve(self) -> None:
        """Do turns until the stream ends, is to stop or to read its job again; then save the state."""
        trigger, ends = self.job.sink.trigger, self._ends
        every = TRIGGER if trigger is None or ends else parse(trigger).length / 1_000_000
        while not self.signals.interrupt:
            begun = time.monotonic()
            turn = self._next_turn()
            if turn is None and ends and self._has_rules and self.source.caught_up:
                self._finish()
                break
            if turn is not None:
                self._intend(turn)
                self._do(turn)
            self._save_now_and_then()
            self.signals.wait(0 if ends else self._rest(every - (time.monotonic() - begun), turn))
        self.totals.stopped = self.signals.stop
        self._save()

    def _rest(self, until_trigger: float, turn: Turn | None) -> float:
        """Seconds until it looks for rows again: a backlog, and rows on their way, do not wait for the trigger."""
        if turn is None:
            return max(until_trigger, _POLL) if self.source.caught_up else _POLL
        return 0 if self.source.is_behind else max(until_trigger, 0)

    def _next_turn(self) -> Turn | None:
        """The next turn; None where there is nothing to do."""
        rules = None if self.rules is None else self.rules.next_part()
        self._has_rules = self._has_rules or self.rules is None or (rules is None and self.rules.caught_up)
        rows = self.source.next_part() if self._has_rules else None
        if rows is None and rules is None and not self._is_tick_due():
            return None
        idles = self.job.source.idle_after is not None
        if idles:
            self._ticked_at = time.monotonic()
        tick = self._started + int((self._ticked_at - self._started_at) * 1_000_000)
        return Turn(self.number + 1, rows, rules, tick if idles else None, self._started if idles else None)

    def _is_tick_due(self) -> bool:
        return self.job.source.idle_after is not None and time.monotonic() - self._ticked_at >= _TICK

    def _finish(self) -> None:
        """Answer the last windows, where the job says that its input is complete."""
        if self.job.source.finish and self.run.watermark is not None:
            turn = Turn(self.number + 1, finish=True)
            self._intend(turn)
            self._do(turn)

    def _intend(self, turn: Turn) -> None:
        try:
            self.checkpoint.intend(turn if self._is_job_noted else evolve(turn, job=answers_of(self.job)))
            self._is_job_noted = True
        except OSError as error:
            where = str(self.checkpoint.folder)
            raise EngineError(
                f"the checkpoint {where!r} cannot be written: {error.strerror or error}; free some space, and run again"
            ) from error

    def _do(self, turn: Turn) -> None:
        """Do a turn, the first time or again: the same rows, answers and state."""
        begun = time.monotonic()
        refuse = None if self.job.query.bad_rows == FAIL else self.run.refuse
        if turn.rules is not None:
            assert self.rules is not None
            for rows in self.rules.batches(turn.rules, None, refuse=None):
                self.run.broadcast(rows)
            self.rules.took(turn.rules)
        reached = EventTimeProgress.nowhere(self.job.query.source_count)
        if turn.rows is not None:
            batches = self.source.batches(turn.rows, self.job.query.columns, refuse)
            for batch in batches:
                with batches.placing():
                    reached.add(self.run.add(batch))
            self.source.took(turn.rows)
        answers = sorted_answers(self.job, self.run.step(*self._clock(turn, reached)))
        before = evolve(self.totals, dropped=dict(self.totals.dropped))
        take_metrics(self.run, self.totals, self.progress)
        for aside in self._asides:
            aside.check(before, self.totals)
        self._write(answers, turn.number)
        self.totals.answers += len(answers)
        self.number = turn.number
        self._publish(answers, time.monotonic() - begun)

    def _write(self, answers: pa.Table, number: int) -> None:
        """Write what a turn gives, its answers last. A service waits for a sink that is away until it is back."""
        pause = _FIRST_PAUSE
        while True:
            try:
                for aside in self._asides:
                    aside.write(number)
                if len(answers):
                    self._sink.write(answers, number)
                break
            except EngineError as error:
                if self._ends or self.signals.stop:
                    raise
                if pause == _FIRST_PAUSE:
                    self.progress.note(f"warning: turn {number} waits for its sink: {error}")
                self.board.unwell(f"turn {number} waits for its sink: {error}")
                self.signals.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        if pause != _FIRST_PAUSE:
            self.progress.note(f"turn {number} is written")
            self.board.unwell(None)

    def _publish(self, answers: pa.Table, seconds: float) -> None:
        totals = self.totals
        about = {
            "watermark": totals.watermark, "rows_in": totals.rows_in, "rows_late": totals.rows_late,
            "groups": totals.groups, "state_bytes": totals.state_bytes, "lag": self.source.lag,
            "position": self.source.place, "seconds": seconds,
            "savepoint_age": time.monotonic() - self._saved_at,
        }  # fmt: skip
        self.board.publish(self.number, answers, about)

    def _clock(self, turn: Turn, reached: EventTimeProgress) -> tuple[EventTimeProgress, Ticking | None]:
        if turn.finish:
            reached.tick = 0
            return reached, Ticking(finish=True)
        idle = self.job.source.idle_after
        if turn.tick is None or idle is None:
            return reached, None
        reached.tick = turn.tick
        return reached, Ticking(idle.length, started=turn.started or 0)

    def _save_now_and_then(self, at_most: float = inf) -> None:
        commit = min(self.settings.commit.length / 1_000_000, at_most)
        if time.monotonic() - self._saved_at >= max(commit, _SHARE * self._saving):
            self._save()

    def _save(self) -> None:
        """Save the state after the last turn. Without room for it the stream goes on, and does more again later."""
        begun = time.monotonic()
        if self.number > self._saved:
            try:
                self._write_savepoint()
            except OSError as error:
                self.progress.note(f"warning: no savepoint after turn {self.number}: {error.strerror or error}")
        self._saved_at, self._saving = time.monotonic(), time.monotonic() - begun

    def _write_savepoint(self) -> None:
        self.checkpoint.drop_after(self._saved)
        parts = self.checkpoint.parts_folder()
        positions = [
            None
            if reader is None or table is None
            else evolve(reader.position(parts / name), source=source_facts(table))
            for reader, table, name in (
                (self.source, self.job.source, "rows"),
                (self._second, None if self.job.second is None else self.job.second[1], "rules"),
            )
        ]
        self.board.save_states(self.checkpoint.states_file, self.run.result_schema)
        snapshot = self.run.snapshot()
        self.totals.state_bytes = len(snapshot)
        versions = {one.distribution: one.version for one in self.job.bindings.values()}
        savepoint.write(
            self.checkpoint.place_of(self.number), self.job.query, [snapshot], self.run.watermark, versions, *positions
        )
        self._saved, self._is_job_noted = self.number, False
        self.checkpoint.saved(self.number)
