"""What a pass over all small groups of a query is given, and what it gives."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, read_only
from skyband.columns.numbers_or_lists import Column
from skyband.groups.sessions import Sessions
from skyband.windows.schedule import Moments


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
    moments: Moments,
    spans: tuple[Int64, Int64],
    oldest: Int64,
) -> PassInput:
    """A step whose arrays are of one kind to compiled code, which is compiled once then, wherever they come from."""
    frozen_rows = {
        name: read_only(column) if isinstance(column, np.ndarray) else column for name, column in rows.items()
    }
    same = sessions._replace(size=read_only(sessions.size))
    return PassInput(same, entries, read_only(times), frozen_rows, moments, spans, oldest)


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
