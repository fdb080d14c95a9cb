"""What a pass over all small groups of a query is given, and what it gives."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, read_only
from skyband.columns.column_ops import Column
from skyband.groups.small_groups.sessions import Sessions
from skyband.windows.schedule import Moments

_NONE = np.empty(0, np.int64)


class DueMoments(NamedTuple):
    """What the sessions of a pass are asked."""

    moments: Moments
    """By session, or all in order: those of a session stand together."""
    spans: tuple[Int64, Int64]
    """Of each session the first of its moments, and the first that is not."""
    since: Int64 = _NONE
    """Of moments that are of a window each, int64[m]: where it begins; else empty, as the schedule tells."""
    k: Int64 = _NONE
    """int64[m]: how many objects each of these has, where they have a k; else empty."""


class SessionSpans(NamedTuple):
    """Where each session's entries, rows and moments stand: of `Sessions` what compiled code goes by, taken whole."""

    first: Int64
    size: Int64
    """Its entries at the beginning: first..first + size."""
    start: Int64
    stop: Int64
    """Its rows."""
    ended: Array
    """bool: whether nothing of it is needed once it is answered."""
    begin: Int64
    end: Int64
    """Its moments: begin..end."""
    oldest: Int64
    """Entries before this are needed no longer."""


class PassInput(NamedTuple):
    """What one pass over all small groups is given."""

    sessions: Sessions
    entries: Mapping[str, Column]
    times: Int64
    rows: Mapping[str, Column]
    moments: Moments
    spans: tuple[Int64, Int64]
    """Of each session the first of its moments, and the first that is not."""
    oldest: Int64
    """After this step, entries of each session before this are needed no longer."""
    since: Int64 = _NONE
    k: Int64 = _NONE
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
    """A step whose arrays are of one kind to compiled code, which is compiled once then, wherever they come from."""
    frozen_rows = {
        name: read_only(column) if isinstance(column, np.ndarray) else column for name, column in rows.items()
    }
    same = sessions._replace(size=read_only(sessions.size))
    moments, spans, since, k = due
    return PassInput(same, entries, read_only(times), frozen_rows, moments, spans, oldest, since, k)


class PassResult(NamedTuple):
    """What it gives: the entries of each session at its end or when it had too many, and the answers."""

    size: Int64
    """int64[s]: entries of each session; 0 of one that has ended and not grown."""
    entries: Mapping[str, Column]
    grown: Int64
    """int64[s]: the first row that a session with more than `most` entries has not taken in; -1 for others."""
    session: Int64
    """int64[a]: of each row of the answers its session."""
    answers: Sequence[Array | pa.Array]
    """The columns of the answers."""


def beginnings(columns: Iterable[Array], length: int) -> list[Array]:
    """The first so many values of columns that were made for more: views, where a quarter of them is unused at most."""
    return [column[:length] if 4 * length >= 3 * len(column) else column[:length].copy() for column in columns]
