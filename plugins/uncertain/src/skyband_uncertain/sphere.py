"""Positions on the Earth as points in space: two are within a distance iff their points are within a chord.

Two places d metres apart on a great circle have a chord of 2 R sin(d / 2 R). So the search for points in space also
finds positions, even at the poles and where the longitude jumps from 180 to -180. The Earth is a sphere of its mean
radius here: real distances, on the ellipsoid, differ by up to 0.6 %. In float64 a distance is accurate to 10 nm, and
one of nearly half the Earth to 0.2 m.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.arrays import Array
from skyband.errors import InputError

RADIUS = 6_371_008.8
"""Metres; the mean radius R1 of the IUGG."""


def chord(metres: float) -> float:
    """The straight distance, in metres, between two places this far apart on the surface. For half the Earth or more it
    is larger than between any two places.
    """
    return 2 * RADIUS * math.sin(metres / (2 * RADIUS)) if metres < math.pi * RADIUS else 3 * RADIUS


def in_space(columns: Mapping[str, pa.Array], names: Sequence[str], null: Array) -> dict[str, pa.Array]:
    """Convert latitudes and longitudes in degrees, in the frame columns values and values.1, to coordinates in metres,
    in values, values.1 and values.2. The first coordinate is the one from pole to pole.

    names: of the columns in the source. null: bool[n], dropped rows. Raises InputError, naming the row, on a latitude
    beyond the poles or a longitude of more than a full turn.
    """
    latitude, longitude = (pc.if_else(pa.array(null), None, columns[name]) for name in ("values", "values.1"))
    for name, lists, most in zip(names, (latitude, longitude), (90.0, 360.0), strict=True):
        _check(name, lists, most)
    offsets = np.concatenate([[0], np.cumsum(pc.fill_null(pc.list_value_length(latitude), 0).to_numpy())])
    north, east = (pc.multiply(pc.list_flatten(lists), math.pi / 180) for lists in (latitude, longitude))
    beside = pc.multiply(pc.cos(north), RADIUS)
    flat = pc.multiply(pc.sin(north), RADIUS), pc.multiply(pc.cos(east), beside), pc.multiply(pc.sin(east), beside)
    lists = [pa.LargeListArray.from_arrays(pa.array(offsets), one, mask=latitude.is_null()) for one in flat]
    return {**columns, **dict(zip(("values", "values.1", "values.2"), lists, strict=True))}


def _check(name: str, lists: pa.Array, most: float) -> None:
    flat = pc.list_flatten(lists)
    beyond: Array = pc.fill_null(pc.greater(pc.abs(flat), most), False).to_numpy(zero_copy_only=False)
    if beyond.any():
        rows = np.unique(pc.list_parent_indices(lists).to_numpy()[beyond])
        reason = f"must be degrees from {-most:g} to {most:g}"
        value = flat[int(beyond.argmax())].as_py()
        raise InputError(name, f"{reason} (got {value!r})", int(rows[0]), rows=rows, reason=reason)
