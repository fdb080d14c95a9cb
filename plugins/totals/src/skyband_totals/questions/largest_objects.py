"""The objects with the largest totals in any window, from a ranker's state or from several together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.columns.integer_ids import numbers_column
from skyband.config.literals import literal
from skyband.errors import InputError
from skyband.states.compatibility import common_coverage
from skyband.states.counting import read_all_with
from skyband.states.ranker_state import RankerState, check_together, read_ranker_state, values_of
from skyband.states.since_or_last import Asked
from skyband.states.state import Readers


def heavy_hitters(
    states: Any, *, since: Any = None, last: Any = None, k: int | None = None, share: float | None = None,
    readers: Readers | None = None,
) -> pa.Table:  # fmt: skip
    """The objects with the largest totals of a window, from a state of heavy-hitters or from several together.

    Parameters
    ----------
    states : bytes, list or Arrow column
        the bytes of one state, or several states in a list, an Arrow column or any iterable: the totals of an object
        add up, of distinct values each counts once
    since : moment, default None
        when the window begins: text, a datetime (UTC without a zone), microseconds, or a row's number
    last : duration, default None
        instead of `since`, the window's length up to the moment of the state, such as "37 minutes". Without either:
        all that the states cover
    k : int, default None
        how many objects, at most
    share : float, default None
        only objects that may have this part of the grand total. Without `k` and `share`: those of the query
    readers : Readers, default None
        the backends whose states can be read; None: those that are installed

    Returns
    -------
    pyarrow.Table
        rank (from 1), object, total, share, low and high, as the query itself answers

    Raises
    ------
    InputError
        a state does not cover the window (the message says from when it does), its backend answers no window that
        begins there, or the states do not go together
    SnapshotError
        a state is damaged, of another version, or of no ranker that is installed
    """
    return heavy_hitters_of(read_all_with(read_ranker_state, states, readers), Asked.read(since, last), k, share)


def heavy_hitters_of(states: Sequence[RankerState], asked: Asked, k: int | None, share: float | None) -> pa.Table:
    """The same of states that are read already."""
    check_limits(k, share)
    first = states[0]
    if len(states) == 1:
        since = asked.of(first)
    else:
        check_together(states)
        since = asked.within(common_coverage(states), max(state.floor for state in states))
    return ranked(states, since, k, share, "since" if asked.since is not None else "last")


def ranked(
    states: Sequence[RankerState], since: int, k: int | None, share: float | None, name: str = "since"
) -> pa.Table:
    """The table of an answer since a moment; `name`: the argument that an error names."""
    moment = states[0].to_ranker(name, since)
    readers = [state.reader for state in states]
    found = type(readers[0]).top(readers, [moment] * len(readers), k, share)
    columns = {
        "rank": numbers_column(np.arange(1, len(found.objects) + 1, dtype=np.int64)),
        "object": values_of(states, found.objects),
        "total": numbers_column(found.totals),
        "share": numbers_column(found.shares),
        "low": numbers_column(found.low),
        "high": numbers_column(found.high),
    }
    return pa.table(columns)


def check_limits(k: Any, share: Any) -> None:
    """Raise InputError where they limit nothing."""
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise InputError("k", f"must be a whole number from 1 on (got {literal(k)})")
    if share is not None and (isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1):
        raise InputError("share", f"must be above 0 and at most 1 (got {literal(share)})")
