"""One state of several: that of all their rows together."""

from typing import Any, cast

from skyband import snapshot
from skyband.config.parameters import build
from skyband.errors import InputError
from skyband.registry.backend_loading import load_class
from skyband.roles import Sketch
from skyband.states.compatibility import common_coverage
from skyband.states.counting import read_all
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
    held = read_all(blobs, readers)
    covers = common_coverage(held)
    info = held[0].info
    if "merge" in info.lacks:
        raise InputError("states", f"of {info.key} cannot be united: {info.lacks['merge']}")
    cls = cast(type[Sketch], load_class(info))
    whole: Sketch | None = None
    for blob in blobs:
        sketch = build(cls, held[0].parameters)
        sketch.load_state(snapshot.decode(blob.as_buffer() if hasattr(blob, "as_buffer") else blob).arrays)
        if whole is None:
            whole = sketch
        else:
            whole.merge(sketch)
    assert whole is not None
    if covers is not None:
        whole.forget(covers.since)
    return encode_state(whole.role, whole.name, whole.parameters(), whole.dump_state(), covers)
