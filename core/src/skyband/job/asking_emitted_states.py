"""A table of states in files: the groups of one moment, united as asked, and any windows of them. Loads no numba."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen

from skyband.errors import InputError, SnapshotError, suggest
from skyband.job.source_files import data_files
from skyband.states.counting import Estimate, estimate_of
from skyband.states.coverage import Coverage
from skyband.states.since_or_last import Asked
from skyband.states.state import State, read_state

AT = "at"


@frozen
class Row:
    """The answer of one group, or of several united, over one window."""

    group: Mapping[str, Any]
    """By grouping column its value; without those that were united."""
    window: str
    estimate: Estimate


@frozen
class Answers:
    """What a table answers at one moment."""

    at: str
    """The moment, as a person reads it."""
    by: tuple[str, ...]
    rows: tuple[Row, ...]


def ask(
    path: str, lasts: Sequence[str] = (), at: str | None = None, by: Sequence[str] = (), united: bool = False,
    column: str = "state",
) -> Answers:  # fmt: skip
    """The answers of the groups of a table at a moment: each by itself, by some columns, or all united.

    `at`: a moment of the table, the newest where it is None. Raises InputError, naming the option, where a column, a
    moment or a window is not there, and SnapshotError, naming the group, where a state is damaged.
    """
    windows = [Asked.read(None, last) for last in lasts] or [Asked()]
    table = _Table(path, column)
    table.check(by)
    rows = table.rows(at)
    held = [(values, _read(values, blob)) for values, blob in rows]
    moment = _moment_of([state for _, state in held], table.chosen)
    named = list(by) if by else table.grouping
    parts: dict[tuple[Any, ...], list[State]] = {}
    if by or not united:
        for values, state in held:
            parts.setdefault(tuple(values[name] for name in named), []).append(state)
    answered = [(dict(zip(named, key, strict=True)), parts[key]) for key in sorted(parts, key=lambda k: [*map(str, k)])]
    if united and (named or not parts):
        answered.append(({}, [state for _, state in held]))
    found = tuple(
        Row(group, str(window.last or moment.length), _estimate(states, window, moment))
        for group, states in answered
        for window in windows
    )
    return Answers(moment.show(moment.at), tuple(named) if parts else (), found)


def _estimate(states: Sequence[State], window: Asked, moment: Coverage) -> Estimate:
    """Where only changed groups have states, each is as good as of the moment asked, as its group's newest."""
    since = window.within(moment, moment.since)
    if len(states) == 1:
        return Estimate(*states[0].reader.estimate(since))
    return estimate_of(list(states), Asked(since=since))


def _read(values: Mapping[str, Any], blob: bytes) -> State:
    try:
        state = read_state(blob)
    except SnapshotError as error:
        group = ", ".join(f"{name} = {value!r}" for name, value in values.items()) or "no group"
        raise SnapshotError(f"the state of {group}: {error}") from error
    if state.covers is None:
        raise SnapshotError('holds no moment: a table of states is what emit = "state" gives')
    return state


def _moment_of(states: Sequence[State], chosen: int) -> Coverage:
    covers = [state.covers for state in states if state.covers is not None]
    length = min(each.at - each.since for each in covers)
    return Coverage(chosen, chosen - length, covers[0].rows, covers[0].changed)


class _Table:
    """The Parquet files of a table, of which only the row groups that are needed are read."""

    def __init__(self, path: str, column: str) -> None:
        self._path, self._column = path, column
        paths = [file for file in data_files(Path(path)) if file.suffix in ("", ".parquet")]
        if not paths:
            raise InputError("states", f"{path!r} holds no Parquet file")
        try:
            self._files = [pq.ParquetFile(file) for file in paths]
        except (OSError, pa.ArrowException) as error:
            raise InputError("states", f"{path!r} cannot be read as Parquet: {error}") from error
        self._folders = [_folders(file) for file in paths]
        names = [*self._files[0].schema_arrow.names, *self._folders[0]]
        for name, option in ((AT, "states"), (column, "column")):
            if name not in names:
                raise InputError(option, f"{path!r} has no column {name!r}; {suggest(name, names)}")
        self.grouping = [name for name in names if name not in (AT, column)]
        self.chosen = 0

    def check(self, by: Sequence[str]) -> None:
        """Raise InputError unless these are grouping columns."""
        for name in by:
            if name not in self.grouping:
                raise InputError("by", f"the states have no grouping column {name!r}; {suggest(name, self.grouping)}")

    def rows(self, at: str | None) -> list[tuple[dict[str, Any], bytes]]:
        """The groups with their states, as of the moment `at` or the newest, which becomes `chosen`."""
        moments = sorted({moment for _, _, times in self._parts() for moment in times})
        if not moments:
            raise InputError("states", f"{self._path!r} holds no state yet")
        self.chosen = moments[-1] if at is None else _number(at)
        if moments[0] <= self.chosen <= moments[-1]:
            below = max(moment for moment in moments if moment <= self.chosen)
            covers = _read({}, self._of(lambda moment: moment == below)[0][1][1]).covers
            assert covers is not None
            if covers.changed:
                return self._newest(covers.at - covers.since)
            if below == self.chosen:
                return [row for _, row in self._of(lambda moment: moment == below)]
        self._refuse(moments)
        return []

    def _newest(self, length: int) -> list[tuple[dict[str, Any], bytes]]:
        newest: dict[tuple[Any, ...], tuple[int, tuple[dict[str, Any], bytes]]] = {}
        for moment, row in self._of(lambda moment: self.chosen - length < moment <= self.chosen):
            key = tuple(row[0].values())
            if key not in newest or newest[key][0] < moment:
                newest[key] = moment, row
        return [row for _, row in newest.values()]

    def _refuse(self, moments: Sequence[int]) -> None:
        near = sorted(sorted(moments, key=lambda moment: abs(moment - self.chosen))[:2])
        rows = pa.types.is_integer(self._files[0].schema_arrow.field(AT).type)
        show = Coverage(0, 0, rows).show
        said = f"there is no state of {show(self.chosen)}; the nearest are of {' and '.join(map(show, near))}"
        raise InputError("at", said)

    def _parts(self) -> Iterator[tuple[int, int, list[int]]]:
        """Each row group: its file, its number, and the moments of its rows."""
        for place, file in enumerate(self._files):
            for number in range(file.num_row_groups):
                column = file.read_row_group(number, columns=[AT]).column(AT)
                if pa.types.is_timestamp(column.type):
                    column = column.cast(pa.timestamp("us", column.type.tz))
                yield place, number, column.cast(pa.int64()).to_pylist()

    def _of(self, wanted: Any) -> list[tuple[int, tuple[dict[str, Any], bytes]]]:
        """The rows whose moment is `wanted`, each with it."""
        found = []
        for place, number, times in self._parts():
            chosen = [row for row, moment in enumerate(times) if wanted(moment)]
            if chosen:
                inside = [name for name in self.grouping if name not in self._folders[place]]
                table = self._files[place].read_row_group(number, columns=[*inside, self._column])
                for row in chosen:  # a slice each, as `take` would import pyarrow.compute
                    values = table.slice(row, 1).to_pylist()[0]
                    state = values.pop(self._column)
                    if state is None:
                        raise InputError("column", f"column {self._column!r} has a null where a state belongs")
                    named = {**values, **self._folders[place]}
                    found.append((times[row], ({name: named[name] for name in self.grouping}, state)))
        return found


def _folders(file: Path) -> dict[str, str]:
    """What the folders `key=value` above a file say."""
    return dict(part.split("=", 1) for part in file.parts[:-1] if "=" in part)


def _number(at: str) -> int:
    try:
        number = Asked.read(int(at) if at.lstrip("-").isdigit() else at, None).since
    except InputError as error:
        raise InputError("at", error.message) from error
    assert number is not None
    return number
