"""The input and result of a pass over all small groups of a query."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, read_only
from skyband.columns.column_ops import Column
from skyband.groups.small_groups.sessions import Sessions
from skyband.windows.schedule import Moments

_NO_INTS = np.empty(0, np.int64)


class DueMoments(NamedTuple):
    """The moments to answer for the sessions of a pass."""

    moments: Moments
    """By session, or all in order; those of a session are consecutive."""
    spans: tuple[Int64, Int64]
    """The first moment of each session, and the first after it."""
    since: Int64 = _NO_INTS
    """int64[m]: the start of each moment's window, if moments have one window each; otherwise empty."""
    k: Int64 = _NO_INTS
    """int64[m]: the number of objects of each moment, if they have a k; otherwise empty."""


class SessionSpans(NamedTuple):
    """The places of each session's entries, rows and moments: the part of `Sessions` that compiled code needs."""

    first: Int64
    size: Int64
    """Its entries at the start: first..first + size."""
    start: Int64
    stop: Int64
    """Its rows."""
    ended: Array
    """bool: whether nothing needs it after it is answered."""
    begin: Int64
    end: Int64
    """Its moments: begin..end."""
    oldest: Int64
    """Entries before this are no longer needed."""


class PassInput(NamedTuple):
    """The input of one pass over all small groups."""

    sessions: Sessions
    entries: Mapping[str, Column]
    times: Int64
    rows: Mapping[str, Column]
    moments: Moments
    spans: tuple[Int64, Int64]
    """The first moment of each session, and the first after it."""
    oldest: Int64
    """After this step, entries of each session before this are no longer needed."""
    since: Int64 = _NO_INTS
    k: Int64 = _NO_INTS
    """As in `DueMoments`."""

    @property
    def session_spans(self) -> SessionSpans:
        """The sessions as a kernel takes them."""
        of = self.sessions
        return SessionSpans(of.first, of.size, of.start, of.stop, of.ended, *self.spans, self.oldest)


def pass_input_of(
    sessions: Sessions,
    entries: Mapping[str, Column],
    times: Int64,
    rows: Mapping[str, Column],
    due: DueMoments,
    oldest: Int64,
) -> PassInput:
    """A step whose arrays have one type for compiled code, which is then compiled only once."""
    frozen_rows = {
        name: read_only(column) if isinstance(column, np.ndarray) else column for name, column in rows.items()
    }
    same = sessions._replace(size=read_only(sessions.size))
    moments, spans, since, k = due
    return PassInput(same, entries, read_only(times), frozen_rows, moments, spans, oldest, since, k)


class PassResult(NamedTuple):
    """The result: each session's entries at its end or when it had too many, and the answers."""

    size: Int64
    """int64[s]: the number of entries of each session; 0 if it has ended and not grown."""
    entries: Mapping[str, Column]
    grown: Int64
    """int64[s]: the first row that a session with more than `most` entries has not taken in; -1 for others."""
    session: Int64
    """int64[a]: the session of each row of the answers."""
    answers: Sequence[Array | pa.Array]
    """The columns of the answers."""


def beginnings(columns: Iterable[Array], length: int) -> list[Array]:
    """The first `length` values of oversized columns: views if at most a quarter is unused, otherwise copies."""
    return [column[:length] if 4 * length >= 3 * len(column) else column[:length].copy() for column in columns]
