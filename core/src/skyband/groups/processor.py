"""GroupProcessor: the interface of one group's stream inside an operator."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from skyband.arrays import TIME_MAX, Array, Int64
from skyband.columns.rows import Rows
from skyband.errors import PluginError
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.groups.plain_turns import AnswersOfTurns, PlainTurn

if TYPE_CHECKING:
    from skyband.groups.broadcast_state import BroadcastState
    from skyband.roles import Backend

_NOT_TOLD = 1 << 18
"""The assumed bytes of a processor that does not know its size."""


class GroupProcessor(ABC):
    """One group's stream: takes rows in time order and returns the answers of every moment passed.

    It has five operations: rows arrive and moments pass (`advance`), the input ends (`finish`), its state is saved
    (`dump_state`) and loaded (`load_state`). The rest describes it, or has a default. Most queries define a
    `WindowedProcessor`, in `skyband.groups.windowed_processor`: rows arrive by `update`, a moment passes by `answer`.
    """

    @abstractmethod
    def advance(self, rows: Rows, until: int) -> ProcessorAnswers | None:
        """Take in rows, all before `until`, and answer every moment up to `until` not answered yet."""

    def catch_up(self, rows: Rows, until: int) -> ProcessorAnswers | None:
        """As `advance`, when an earlier processor gave the answers: the return value is ignored.

        The state must become the same as by `advance`. A processor whose answers are expensive skips them.
        """
        return self.advance(rows, until)

    @classmethod
    def plain_turns(
        cls, processors: Sequence[Self], times: Int64, spans: Int64, until: int
    ) -> Sequence[PlainTurn | None]:
        """The parameters that `turns` needs for each of these. See `skyband.groups.plain_turns`."""
        del times, spans, until
        return [None] * len(processors)

    @classmethod
    def turns(cls, processors: Sequence[Self], rows: Rows, spans: Int64, turns: Sequence[PlainTurn]) -> AnswersOfTurns:
        """`advance` for each of these, whose rows are those from spans[i, 0] to spans[i, 1]; spans: int64[g, 2].

        Called if `plain_turns` returned a turn for each.
        """
        raise NotImplementedError(f"{cls.__name__} defines plain_turns, so it must define turns")

    @abstractmethod
    def finish(self, rows: Rows, latest: int) -> ProcessorAnswers | None:
        """Take in the last rows and answer up to the first moment after `latest`, the last time of any group."""

    def end(self, latest: int) -> int:
        """The watermark at which it has answered everything of `finish(_, latest)`: rows before it would be late."""
        return latest + 1

    def start_from(self, since: Mapping[str, int]) -> None:  # noqa: B027 - most queries have no parts
        """Answer these subqueries only over windows that begin at `since` or later. Called on a new processor.

        They joined the checkpoint then: earlier rows may be forgotten, here or in another shard or group. For windows
        counted in rows, `since` is the number of a row of the group.
        """

    def listen(self, broadcast: "BroadcastState", group: int | None = None) -> None:  # noqa: ARG002
        """Answer as the query's second table says; its rows change `broadcast`. Called on a new processor, or on one
        that continues a small group.

        group: the key of its group; None for no particular one. `next_at` may ignore moments that the second table asks
        for: `BroadcastState.due` gives it a turn then.
        """
        raise PluginError(f"{type(self).__name__} does not support a second table")

    @property
    @abstractmethod
    def next_at(self) -> int:
        """The next moment that can have an answer without new rows; TIME_MAX if there is none."""

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Whether its longest window is empty, so that it can be dropped and started again."""

    def rows_in_session(self, times: Int64) -> int:
        """The number of these rows, in time order, before its windows become empty; then it starts over."""
        return len(times)

    def merge(self, other: "GroupProcessor") -> None:  # noqa: ARG002
        """Become the processor of both streams: the other had other rows of the same group, up to the same watermark.

        Called only where the query's `unmerged` is None.
        """
        raise PluginError(f"{type(self).__name__} cannot be merged with another")

    @property
    @abstractmethod
    def retained(self) -> int:
        """The number of items retained by its backends."""

    @property
    def nbytes(self) -> int:
        """The approximate bytes of its backends, including slack. Called after each turn, so it must be cheap.

        Small groups stay ready for their next rows, up to thousands of them. Large ones, and those of unknown size, are
        stored as state sooner.
        """
        return _NOT_TOLD

    @property
    def latest_next_at(self) -> int:
        """The latest possible next moment of a group that is up to date, if known."""
        return TIME_MAX

    def take_dropped(self) -> Mapping[str, int]:
        """Rows that can have no effect on answers, by reason, since the last call or since it was loaded."""
        return {}

    def begin_with_state(self, state: Any, arrays: Mapping[str, Array], at: int) -> None:  # noqa: ARG002
        """Start from an emitted state, with every moment up to `at` answered. Called on a new processor.

        state: a State without problems by `Execution.state_problems`. arrays: those of its snapshot.
        """
        raise PluginError(f"{type(self).__name__} cannot start from a state")

    @abstractmethod
    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """A JSON header and flat arrays, from which `load_state` makes an equal processor."""

    @abstractmethod
    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Load the result of `dump_state` into a new processor."""


class BackendProcessor(GroupProcessor):
    """A processor whose items are those of one backend. A base class next to one that says when it answers."""

    _backend: "Backend"

    @property
    def retained(self) -> int:
        return len(self._backend)

    @property
    def nbytes(self) -> int:
        return self._backend.nbytes
