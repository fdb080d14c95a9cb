"""States of backends side by side in the flat arrays of one lane: each under a name of its own."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from skyband import frames
from skyband.arrays import Array


def under(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays as `name.…`."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def of(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Those that `under` named so."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}


def framed(name: str, frame: pa.RecordBatch) -> dict[str, Array]:
    """A frame as an array of bytes, nothing where it has no rows."""
    return {name: np.frombuffer(frames.to_bytes(frame), np.uint8)} if len(frame) else {}


def unframed(name: str, arrays: Mapping[str, Array], empty: pa.RecordBatch) -> pa.RecordBatch:
    """The frame again; `empty` where it had no rows."""
    return frames.from_bytes(arrays[name]) if name in arrays else empty
