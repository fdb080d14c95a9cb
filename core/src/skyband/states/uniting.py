"""One state of several: that of all their rows together."""

from typing import Any

from skyband import snapshot
from skyband.config.parameters import build
from skyband.errors import InputError
from skyband.registry import load_class
from skyband.states.compatibility import common_coverage
from skyband.states.counting import read_all_with
from skyband.states.coverage import Coverage
from skyband.states.ranker_state import RankerState, check_together, extra_arrays, read_any_state, together
from skyband.states.state import Readers, encode_state


def union(states: Any, *, readers: Readers | None = None) -> bytes:
    """The state of all rows that any of these states counted, over the window that all of them cover.

    Parameters
    ----------
    states : list or Arrow column
        several states in a list, an Arrow column or any iterable, of one backend with equal parameters and one moment
    readers : Readers, default None
        the backends whose states can be read; None: those that are installed

    Raises
    ------
    InputError
        the states do not go together; the message names the row
    """
    blobs = [states] if isinstance(states, bytes) else list(states)
    held = read_all_with(read_any_state, blobs, readers)
    covers = common_coverage(held)
    info = held[0].info
    if "merge" in info.lacks:
        raise InputError("states", f"of {info.key} cannot be united: {info.lacks['merge']}")
    rankers = [state for state in held if isinstance(state, RankerState)]
    if rankers:
        check_together(rankers)
    whole: Any = None
    for blob in blobs:
        part: Any = build(load_class(info), held[0].parameters)
        part.load_state(snapshot.decode(blob.as_buffer() if hasattr(blob, "as_buffer") else blob).arrays)
        if whole is None:
            whole = part
        else:
            whole.merge(part)
    if rankers:
        return _of_ranker(whole, rankers, covers)
    if covers is not None:
        whole.forget(covers.since)
    return encode_state(whole.role, whole.name, whole.parameters(), whole.dump_state(), covers)


def _of_ranker(whole: Any, states: list[RankerState], covers: Coverage | None) -> bytes:
    phase = states[0].phase
    if covers is not None:
        whole.advance(covers.at - phase)
    arrays = whole.dump_state()
    names = together([state.names for state in states], arrays["objects"])
    return encode_state(whole.role, whole.name, whole.parameters(), {**arrays, **extra_arrays(names, phase)}, covers)
