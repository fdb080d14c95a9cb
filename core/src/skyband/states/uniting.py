"""Unites several states into the state of all their rows."""

from typing import Any

from skyband import snapshot
from skyband.config.parameters import build
from skyband.errors import InputError
from skyband.registry import load_class
from skyband.registry.info import BackendInfo
from skyband.states.compatibility import common_coverage
from skyband.states.object_names import extra_arrays, together
from skyband.states.readers import Readers
from skyband.states.state import encode_state, read_states, state_bytes


def union(states: Any, *, readers: Readers | None = None) -> bytes:
    """The state of all rows that any of these states counted, over the window that all of them cover.

    Parameters
    ----------
    states : list or Arrow column
        several states in a list, an Arrow column or any iterable, of one backend with equal parameters and one moment
    readers : Readers, default None
        the backends whose states can be read; None: those installed

    Raises
    ------
    InputError
        the states cannot be combined; the message names the row
    """
    blobs = [states] if isinstance(states, bytes) else list(states)
    each_state = read_states(blobs, readers)
    first, covers = each_state[0], common_coverage(each_state)
    if "merge" in first.info.lacks:
        raise InputError("states", f"of {first.key} cannot be united: {first.info.lacks['merge']}")
    assert isinstance(first.info, BackendInfo)
    whole: Any = None
    for blob in blobs:
        part: Any = build(load_class(first.info), first.parameters)
        part.load_state(snapshot.decode(state_bytes(blob)).arrays)
        if whole is None:
            whole = part
        else:
            whole.merge(part)
    reader = type(first.reader)
    if covers is not None:
        reader.bring_to(whole, covers.at - first.phase, covers.since - first.phase)
    arrays = whole.dump_state()
    if reader.object_ids is not None:
        names = together([state.names for state in each_state if state.names is not None], arrays[reader.object_ids])
        arrays = {**arrays, **extra_arrays(names, first.phase)}
    return encode_state(whole.role, whole.name, whole.parameters(), arrays, covers)
