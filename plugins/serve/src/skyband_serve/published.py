"""What the port serves: the newest answers and states of a job, replaced whole after each turn.

A request takes one reference to a `Published` and reads only that. Nothing in it changes afterwards, so a read sees one
moment of the job, whole, and holds up neither the turns nor other requests.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import define, evolve, field, frozen
from skyband.config.durations import parse
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.tables.model import AVAILABLE_NOW

from skyband_serve import states_file
from skyband_serve.published_states import PublishedStates
from skyband_serve.settings import ServeSettings

MOST_BYTES = 64 << 20
"""Of the answers that are kept."""
AT = "at"
_STANDSTILL = 30.0
"""Seconds without a turn, while rows wait, after which the service is not well; beyond the job's trigger."""


@frozen
class TurnAnswers:
    """The answers of one turn."""

    turn: int
    table: pa.Table
    until: float
    """When they are dropped, by the board's clock."""


@frozen
class Published:
    """A job as of one turn."""

    turn: int = 0
    """The newest turn; 0 before the first one of this process."""
    about: Mapping[str, Any] = field(factory=dict)
    """Figures of the turn, as they were passed to `Board.publish`."""
    since: float = 0.0
    """When it was published, by the board's clock."""
    recent: tuple[TurnAnswers, ...] = ()
    """The newest answers, oldest first: the last turn that answered anything is always among them."""
    first: int = 0
    """The answers of this turn and of all later ones are kept."""
    states: PublishedStates | None = None
    """The newest state of each group; None if the job emits no states, or none yet."""


@define(eq=False)
class Board:
    """The newest answers of a job. One thread publishes, any number read `now`, without a lock.

    clock: monotonic seconds.
    """

    job: CheckedJob
    settings: ServeSettings
    clock: Callable[[], float] = time.monotonic
    now: Published = field(init=False)
    """The newest turn. A reader takes it once."""
    listeners: list[Callable[[Published], None]] = field(factory=list, init=False)
    """Called after each turn, in the thread that publishes."""
    _reason: str | None = field(default=None, init=False)
    _saved: PublishedStates | None = field(default=None, init=False)
    """The states that were written to a file last."""

    def __attrs_post_init__(self) -> None:
        self.now = Published(since=self.clock())

    def publish(self, turn: int, answers: pa.Table, about: Mapping[str, Any]) -> None:
        """Replace what is served by what holds after a turn, once the sink has its answers; nothing without a port.

        `about` may have watermark (microseconds), rows_in, rows_late, groups, state_bytes, position, lag (rows, by
        partition), savepoint_age (seconds) and seconds (of the turn). O(rows answered + groups with states).
        """
        if self.settings.address is None:
            return
        before, now, states = self.now, self.clock(), self.now.states
        recent, first = self._recent_beside(before, now, answers.nbytes if len(answers) else 0)
        if len(answers):
            if self.job.query.gives_states:
                states, recent, first = (
                    PublishedStates.after(states, answers),
                    (),
                    turn,
                )  # all moments would be too many
            recent = (*recent, TurnAnswers(turn, answers, now + self.settings.keep.length / 1e6))
        self.now = Published(turn, dict(about), now, recent, first or turn, states)
        for listener in self.listeners:
            listener(self.now)

    def save_states(self, path: Path, schema: pa.Schema) -> None:
        """Write the states to a file, unless it has them already. Without states, remove the file: the next start would
        take it for the newest states. Raises OSError where the disk is full or fails."""
        states = self.now.states
        if states is None:
            path.unlink(missing_ok=True)
        elif states is not self._saved:
            states_file.save(path, states, schema, self.job)
        self._saved = states

    def restore_states(self, path: Path) -> None:
        """Publish the states of a file until a turn brings newer ones. Raises SnapshotError where it is damaged."""
        if self.settings.address is not None and self.now.states is None:
            self._saved = states_file.load(path, self.job)
            self.now = evolve(self.now, states=self._saved)

    def unwell(self, reason: str | None) -> None:
        """Say why the service cannot do its work; None: it can."""
        self._reason = reason

    @property
    def ailment(self) -> str | None:
        """Why the service is not well, or None."""
        now = self.now
        waiting = sum((now.about.get("lag") or {}).values())
        silence = self.clock() - now.since
        if self._reason is None and waiting and silence > _STANDSTILL + self._trigger:
            return f"no turn for {silence:.0f} seconds, while {waiting:,} rows wait"
        return self._reason

    @property
    def _trigger(self) -> float:
        """Seconds between two turns, if the job says so."""
        trigger = self.job.sink.trigger
        return 0.0 if trigger in (None, AVAILABLE_NOW) else parse(trigger).length / 1e6

    @staticmethod
    def _recent_beside(before: Published, now: float, nbytes: int) -> tuple[tuple[TurnAnswers, ...], int]:
        """The answers that are kept beside new ones of a size, and the first turn whose answers all are."""
        recent, place = before.recent, len(before.recent)
        if not nbytes and recent:  # the last turn that answered anything stays
            place, nbytes = place - 1, recent[-1].table.nbytes
        while place and recent[place - 1].until > now and nbytes + recent[place - 1].table.nbytes <= MOST_BYTES:
            place -= 1
            nbytes += recent[place].table.nbytes
        return recent[place:], recent[place - 1].turn + 1 if place else before.first
