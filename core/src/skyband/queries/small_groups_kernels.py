# mypy: disable-error-code="untyped-decorator"
"""What the passes over small groups share, in compiled code."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def oldest_needed(time: Any, beats: Any) -> Any:
    """`Schedule.oldest`: no moment after `time` needs rows before this. beats: int64[b, 3], slide, phase, window."""
    found = np.int64(2**63 - 1)
    for beat in range(len(beats)):
        slide, phase = beats[beat, 0], beats[beat, 1]
        found = min(found, (time - phase) // slide * slide + phase + slide - beats[beat, 2])
    return found


@njit(cache=True)
def longer(values: Any, length: int) -> Any:
    """The same values with room for `length`."""
    longer = np.empty(length, values.dtype)
    for place in range(len(values)):
        longer[place] = values[place]
    return longer
