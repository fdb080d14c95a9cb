"""A group processor: one group's stream inside an operator."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

from skyband.arrays import TIME_MAX, Array, Int64
from skyband.columns.rows import Rows
from skyband.errors import PluginError
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.groups.broadcast_state import BroadcastState
from skyband.groups.plain_turns import AnswersOfTurns, PlainTurn

_NOT_TOLD = 1 << 18
"""Bytes that a processor is taken to hold which does not tell."""


class GroupProcessor(ABC):
    """One group's stream: takes rows in time order and gives the answers of every moment passed.

    Five things happen to it: rows come and moments pass (`advance`), the input ends (`finish`), its state leaves
    (`dump_state`) and comes back (`load_state`). All else tells about it, or has a default. Most queries write a
    `WindowedProcessor`, of `skyband.groups.windowed_processor`: rows come by `update`, a moment passes by `answer`.
    """

    @abstractmethod
    def advance(self, rows: Rows, until: int) -> ProcessorAnswers | None:
        """Take in rows, all before `until`, and answer every moment at most `until` not answered yet."""

    def catch_up(self, rows: Rows, until: int) -> ProcessorAnswers | None:
        """As `advance`, where a processor before this one gave the answers: what is returned is no matter.

        It becomes what `advance` would make of it. One whose answers cost more than its rows leaves them out.
        """
        return self.advance(rows, until)

    @classmethod
    def plain_turns(
        cls, processors: Sequence[Self], times: Int64, spans: Int64, until: int
    ) -> Sequence[PlainTurn | None]:
        """What `turns` needs to know of the turn of each of these. See `skyband.groups.plain_turns`."""
        del times, spans, until
        return [None] * len(processors)

    @classmethod
    def turns(cls, processors: Sequence[Self], rows: Rows, spans: Int64, turns: Sequence[PlainTurn]) -> AnswersOfTurns:
        """The `advance` of each of these, whose rows are those from spans[i, 0] to spans[i, 1]; spans: int64[g, 2].

        Called where `plain_turns` gives a turn for each.
        """
        raise NotImplementedError(f"{cls.__name__} gives turns, and takes none")

    @abstractmethod
    def finish(self, rows: Rows, latest: int) -> ProcessorAnswers | None:
        """Take in the last rows and answer up to the first moment after `latest`, the last time of any group."""

    def end(self, latest: int) -> int:
        """The watermark at which it has given all that `finish(_, latest)` would: rows before it would be late."""
        return latest + 1

    def start_from(self, since: Mapping[str, int]) -> None:  # noqa: B027 - most queries have no parts
        """Answer these subqueries only over windows that begin at `since` or later. Called on a fresh processor.

        They joined the checkpoint then: rows before it may be forgotten, here or in another shard or group. Where
        windows are counted in rows, `since` is the number of a row of the group.
        """

    def listen(self, broadcast: BroadcastState, group: int | None = None) -> None:  # noqa: ARG002
        """Answer as the rows of the query's second table say, which change `broadcast`. Called on a fresh processor,
        or on one that goes on from a small group.

        group: the key of its group; None where it stands for none. Its `next_at` need not know of the moments that the
        second table asks for: where `BroadcastState.due` says so it has a turn.
        """
        raise PluginError(f"{type(self).__name__} answers to no second table")

    @property
    @abstractmethod
    def next_at(self) -> int:
        """The next moment that can have an answer without new rows; TIME_MAX where there is none."""

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Whether its longest window is empty, so that it can be forgotten and begun anew."""

    def rows_in_session(self, times: Int64) -> int:
        """How many of these rows, in time order, come before its windows have run empty; for others it begins anew."""
        return len(times)

    def merge(self, other: "GroupProcessor") -> None:  # noqa: ARG002
        """Become the processor of both streams: the other had other rows of the same group, up to the same watermark.

        Called only where the query's `unmerged` is None.
        """
        raise PluginError(f"{type(self).__name__} cannot be merged with another")

    @property
    @abstractmethod
    def retained(self) -> int:
        """Items retained by its backends."""

    @property
    def nbytes(self) -> int:
        """About how many bytes its backends take, spare room and all. Asked after each turn, so not to be counted out.

        Groups that take few stay ready for their next rows, up to thousands of them. Others, and those that do not
        tell, are sooner put to sleep, that is kept as their state.
        """
        return _NOT_TOLD

    @property
    def latest_next_at(self) -> int:
        """No group that has come as far as all others has its next moment later, where that can be known."""
        return TIME_MAX

    def take_dropped(self) -> Mapping[str, int]:
        """Rows it was given that no answer can come from, by reason, since this was last called or it was loaded."""
        return {}

    def begin_with_state(self, state: Any, arrays: Mapping[str, Array], at: int) -> None:  # noqa: ARG002
        """Begin with an emitted state, every moment up to `at` being answered. Called on a fresh processor.

        state: a State with which `Execution.state_problems` finds nothing wrong. arrays: its snapshot's.
        """
        raise PluginError(f"{type(self).__name__} cannot begin with a state")

    @abstractmethod
    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """A JSON-able header and flat arrays, from which `load_state` makes an equal processor."""

    @abstractmethod
    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Take over what `dump_state` gave. Called on a fresh processor."""
