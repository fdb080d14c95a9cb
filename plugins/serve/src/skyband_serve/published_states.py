"""The newest state of each group, for the questions of `skyband ask`."""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from attrs import define, field
from skyband.errors import InputError
from skyband.states.coverage import Coverage
from skyband_jobs.files.states_table import AT, GroupState, as_key, moments_of, named_state

STATE = "state"
"""The column of states."""
Group = tuple[Any, ...]


@define(eq=False)
class PublishedStates:
    """Each group's newest state at one moment, a table for `skyband_jobs.files.asking_a_table.ask_table`.

    Nothing in it changes but what readers keep there to save work.
    """

    grouping: list[str]
    at: int
    """The moment: the newest that was answered."""
    covers: Coverage
    """What one of the states covers."""
    groups: Mapping[Group, tuple[int, Any]]
    """By group, the moment and the bytes of its state."""
    answered: dict[str, bytes] = field(factory=dict, init=False)
    """Replies by request, which hold as long as these states: kept by the thread of the port."""
    _decoded: dict[Group, GroupState] = field(factory=dict, init=False)
    """Kept by the thread that asks: a state is read once."""
    _before_each: Callable[[], None] = field(default=lambda: None, init=False)

    @classmethod
    def after(cls, before: "PublishedStates | None", answers: pa.Table) -> "PublishedStates":
        """The states after these answers, which are not empty. O(rows + groups), and bytes for changed states.

        Where each group has a state at each moment, those of the newest moment; where only changed groups have one,
        each group's newest, until its rows have left the longest window.
        """
        grouping = [name for name in answers.column_names if name not in (AT, STATE)]
        times, states = moments_of(answers.column(AT)).tolist(), answers.column(STATE)
        columns = [answers.column(name).to_pylist() for name in grouping]
        newest = max(range(len(times)), key=times.__getitem__)
        covers = (
            before.covers if before is not None and not before.covers.changed else _coverage(states[newest].as_py())
        )
        at = times[newest] if before is None else max(times[newest], before.at)
        since = at - (covers.at - covers.since) if covers.changed else at - 1
        groups = {} if before is None else {key: state for key, state in before.groups.items() if state[0] > since}
        for row, time in enumerate(times):
            key = tuple(as_key(column[row]) for column in columns)
            if time > since and (key not in groups or groups[key][0] < time):
                # A copy, as the answers of one turn must not stay for the sake of one group that is quiet afterwards.
                groups[key] = time, states[row].as_py() if covers.changed else states[row].as_buffer()
        return cls(grouping, at, covers, groups)

    def as_of(self, at: int | None) -> tuple[int, list[GroupState]]:
        """The moment and the states of all groups. Raises InputError for another moment."""
        if at is not None and at != self.at:
            there, newest = self.covers.show(at), self.covers.show(self.at)
            message = f"there is no state at {there}: only the newest is served, at {newest}"
            raise InputError("at", f"{message}; the sink has the others, for `skyband ask`")
        return self.at, [self._state(key) for key in self.groups]

    def only(self, groups: Mapping[Group, tuple[int, Any]], before_each: Callable[[], None]) -> "PublishedStates":
        """The same with some of its groups; `before_each` is called before each of their states, and may raise."""
        some = PublishedStates(self.grouping, self.at, self.covers, groups)
        some._decoded, some._before_each = self._decoded, before_each
        return some

    def _state(self, key: Group) -> GroupState:
        self._before_each()
        if key not in self._decoded:
            blob, group = self.groups[key][1], dict(zip(self.grouping, key, strict=True))
            self._decoded[key] = GroupState(group, blob, named_state(group, blob))
        return self._decoded[key]


def _coverage(blob: bytes) -> Coverage:
    covers = named_state({}, blob).covers
    assert covers is not None
    return covers
