"""The start of the window that a question covers: a moment (`since`), or a length before the state's (`last`)."""

import datetime
import re
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from skyband.arrays import TIME_MAX, TIME_MIN
from skyband.config.durations import Duration, parse
from skyband.config.literals import literal
from skyband.errors import InputError
from skyband.states.coverage import Coverage
from skyband.states.state import State

_NUMBER = re.compile(r"-?[0-9]{1,19}")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@frozen
class WindowRequest:
    """A window as requested; with neither field, everything the state covers."""

    since: int | None = None
    """Microseconds since the epoch, or a row's number."""
    last: Duration | None = None

    @classmethod
    def read(cls, since: Any, last: Any) -> "WindowRequest":
        """Raises InputError if both are given, or one is not a moment or length."""
        if since is not None and last is not None:
            message = f"cannot be combined with `since`: give one of them (got {literal(last)} and {literal(since)})"
            raise InputError("last", message)
        if last is not None:
            return cls(last=_length(last))
        return cls(since=None if since is None else moment_of(since))

    def moment_in(self, state: State) -> int:
        """The moment in one state. Raises InputError if the state does not answer from then."""
        return self.within(state.covers, state.floor)

    def within(self, covers: Coverage | None, floor: int) -> int:
        """The moment within this coverage; without a Coverage, times before `floor` are forgotten."""
        if self.last is None and self.since is None:
            return floor
        if covers is None:
            if self.since is None:
                raise InputError("last", "needs the moment of a state, and a snapshot has none: use `since`")
            if self.since < floor:
                raise InputError("since", f"{self.since} is before {floor}, and older rows are forgotten")
            return self.since
        if self.last is None:
            assert self.since is not None
            return covers.check("since", self.since)
        if self.last.rows != covers.rows:
            unit = "rows" if covers.rows else "time"
            raise InputError("last", f"must be in {unit}, as the windows of this state are (got {self.last})")
        return covers.check("last", covers.at - self.last.length)


def _length(last: Any) -> Duration:
    try:
        length = parse(last)
    except ValueError as error:
        raise InputError("last", str(error)) from error
    if length.length < 1:
        raise InputError("last", f"must be longer than 0 (got {literal(last)})")
    return length


def moment_named(name: str, text: str) -> int:
    """A moment or number from the text of an option. Raises InputError that names the option."""
    try:
        return moment_of(int(text) if _NUMBER.fullmatch(text) else text)
    except InputError as error:
        raise InputError(name, error.message) from error


def moment_of(since: Any) -> int:
    """Microseconds since the epoch, or a row's number. Raises InputError if it is not a moment."""
    if isinstance(since, pa.Scalar):
        since = since.as_py()
    if isinstance(since, np.datetime64) and not np.isnat(since):
        return int(since.astype("datetime64[us]").astype(np.int64))
    if isinstance(since, int | np.integer) and not isinstance(since, bool) and TIME_MIN <= since <= TIME_MAX:
        return int(since)
    if isinstance(since, str):
        try:
            since = datetime.datetime.fromisoformat(since)
        except ValueError:
            raise InputError("since", f'must be a moment such as "2026-11-22 10:30" (got {literal(since)})') from None
    if isinstance(since, datetime.datetime):
        aware = since if since.tzinfo is not None else since.replace(tzinfo=datetime.UTC)
        return (aware - _EPOCH) // datetime.timedelta(microseconds=1)
    raise InputError(
        "since", f"must be a moment: text, a datetime, or microseconds since the epoch (got {literal(since)})"
    )
