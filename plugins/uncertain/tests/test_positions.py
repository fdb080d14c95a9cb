"""uncertain-join of positions on the Earth, compared with haversine distances; at the poles and the date line."""

import math

import numpy as np
import pyarrow as pa
import pytest
from in_process_shards import on_shards
from skyband.engines import local
from skyband.errors import ConfigError, InputError
from skyband.queries import make_query
from skyband_uncertain.sphere import RADIUS, chord

KEYS = {
    "kind": "uncertain-join",
    "time": "ts",
    "id": "number",
    "values": ["lat", "lon"],
    "probabilities": "chance",
    "beta": 0.1,
    "distance": "great-circle",
}
PLACES = {
    "around the pole": ((89.0, 90.0), (-180.0, 180.0)),
    "around the other": ((-90.0, -89.5), (-180.0, 360.0)),
    "on the date line": ((-1.0, 1.0), (179.0, 181.0)),
    "in a town": ((52.4, 52.6), (13.3, 13.5)),
    "anywhere": ((-90.0, 90.0), (-360.0, 360.0)),
}


def metres(a, b):
    """The distance by haversines, which are exact for near positions."""
    (north, east), (other_north, other_east) = (tuple(map(math.radians, place)) for place in (a, b))
    up, beside = math.sin((north - other_north) / 2), math.sin((east - other_east) / 2)
    return 2 * RADIUS * math.asin(math.sqrt(min(up**2 + math.cos(north) * math.cos(other_north) * beside**2, 1.0)))


def positions(seed, count, place):
    (south, north), (west, east) = PLACES[place]
    rng = np.random.default_rng([17, seed])
    lats, lons = rng.uniform(south, north, (count, 2)), rng.uniform(west, east, (count, 2))
    lons[rng.random(count) < 0.3] -= 360.0  # the same meridians with other numbers
    lons = np.where(lons < -360.0, lons + 360.0, lons)
    return pa.table(
        {
            "ts": pa.array(range(count), pa.timestamp("s", "UTC")),
            "number": range(count),
            "lat": lats.tolist(),
            "lon": lons.tolist(),
            "chance": [[0.5, 0.25]] * count,
        }
    )


def near(here, there, epsilon):
    pairs = [
        (p * q, metres((here["lat"][i], here["lon"][i]), (there["lat"][j], there["lon"][j])))
        for i, p in enumerate(here["chance"])
        for j, q in enumerate(there["chance"])
    ]
    assert all(abs(distance - epsilon) > 1e-3 for _, distance in pairs), "too near to the limit to decide"
    return sum(chance for chance, distance in pairs if distance <= epsilon)


def by_hand(rows, epsilon, held):
    found = {}
    for at, row in enumerate(rows):
        for other in held(at):
            chance = near(row, rows[other], epsilon)
            if chance >= KEYS["beta"]:
                found[rows[other]["number"], row["number"]] = chance
    return found


def told(result):
    return {(row["left"], row["right"]): row["probability"] for row in result.to_pylist()}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("count", [8, 90], ids=["small groups", "a large one"])
def test_positions_within_metres_of_each_other(place, count):
    table = positions(count, count, place)
    rows = table.to_pylist()
    apart = sorted(
        metres((a["lat"][0], a["lon"][0]), (b["lat"][0], b["lon"][0]))
        for a in rows[:20]
        for b in rows[:20]
        if a is not b
    )
    epsilon = apart[len(apart) // 4] + 0.01
    keys = {**KEYS, "epsilon": epsilon, "window": "40 seconds"}
    wanted = by_hand(rows, epsilon, lambda at: range(max(0, at - 39), at))
    assert told(local.apply(table, keys)) == pytest.approx(wanted) and wanted
    assert told(on_shards(table, make_query(keys), 3)[0]) == pytest.approx(wanted)


def test_a_window_that_follows_moving_positions():
    """The oldest is dropped once a later one is farther than delta from it, along the surface."""
    table = pa.table(
        {
            "ts": pa.array(range(4), pa.timestamp("s", "UTC")),
            "number": range(4),
            "chance": [1.0] * 4,
            "lat": [0.0] * 4,
            "lon": [179.5, -179.9, -179.4, -179.0],
        }
    )
    degree = math.pi * RADIUS / 180
    keys = {**KEYS, "epsilon": 2 * degree, "delta": degree}
    assert {*told(local.apply(table, keys))} == {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)}


def test_half_the_earth_is_everywhere():
    table = pa.table(
        {
            "ts": pa.array(range(4), pa.timestamp("s", "UTC")),
            "number": range(4),
            "chance": [1.0] * 4,
            "lat": [90.0, -90.0, 13.7, -13.7],
            "lon": [0.0, 77.0, 100.5, -79.5],
        }
    )
    assert len(told(local.apply(table, {**KEYS, "epsilon": math.pi * RADIUS, "size": 4}))) == 6
    assert len(told(local.apply(table, {**KEYS, "epsilon": math.pi * RADIUS - 10, "size": 4}))) == 4


def test_a_chord_matches_the_angle():
    assert chord(math.pi * RADIUS / 3) == pytest.approx(RADIUS)
    assert chord(0.0) == 0.0 and chord(1e-3) == pytest.approx(1e-3, rel=1e-12)


@pytest.mark.parametrize(
    ("lat", "lon", "told"),
    [
        (90.5, 0.0, r"lat, row 1: must be degrees from -90 to 90 \(got 90.5\)"),
        (0.0, 361.0, r"lon, row 1: must be degrees from -360 to 360 \(got 361.0\)"),
    ],
)
def test_invalid_positions_are_reported(lat, lon, told):
    table = pa.table(
        {
            "ts": pa.array([1, 2], pa.timestamp("s")),
            "number": [1, 2],
            "lat": [1.0, lat],
            "lon": [None, lon],
            "chance": [1.0, 1.0],
        }
    )
    with pytest.raises(InputError, match=told):
        local.apply(table, {**KEYS, "epsilon": 5, "size": 2})


@pytest.mark.parametrize("values", ["lat", ["lat", "lon", "height"]])
def test_a_position_is_two_columns(values):
    with pytest.raises(ConfigError, match=r"values: must be two columns, as in \[\"latitude\", \"longitude\"\]"):
        make_query({**KEYS, "epsilon": 5, "size": 2, "values": values})
