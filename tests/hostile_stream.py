"""Messages of which one in a hundred is none that a query can take, in every way, and what is to become of each."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from attrs import frozen
from skyband.engines import local

SECOND = 1_000_000
START = 1_767_225_600
"""2026-01-01, in seconds."""
SCHEMA = "ts TIMESTAMP, site STRING, side STRING, number BIGINT, samples ARRAY<DOUBLE>, chances ARRAY<DOUBLE>"
QUERY = {
    "kind": "uncertain-join",
    "time": "ts",
    "source": "site",
    "sources": ["north", "south"],
    "side": "side",
    "id": "number",
    "values": "samples",
    "probabilities": "chances",
    "window": "20 seconds",
    "epsilon": 0.05,
    "beta": 0.3,
    "delay": "5 seconds",
}
BAD, LATE, NULL_TIME, NULL_SOURCE, NULL_SAMPLE, NULL_ID = (
    "bad",
    "late",
    "null time",
    "null source",
    "null sample",
    "null id or side",
)


@frozen
class Hostile:
    """A way in which a message is hostile: what is made of a good one, and what becomes of it by engine."""

    made: Callable[[dict[str, Any]], bytes]
    local: str
    spark: str
    """Where SQL makes null of what cannot be read."""


def _with(**values: Any) -> Callable[[dict[str, Any]], bytes]:
    return lambda good: json.dumps({**good, **values}).encode()


def _raw(value: bytes) -> Callable[[dict[str, Any]], bytes]:
    return lambda _: value


WAYS = (
    Hostile(_raw(b"no JSON"), BAD, NULL_TIME),
    Hostile(_raw(b'{"ts": '), BAD, NULL_TIME),
    Hostile(_raw(b"[1, 2]"), BAD, NULL_TIME),
    Hostile(_raw(b"null"), BAD, NULL_TIME),
    Hostile(_raw(b"\xff\xfe\x00"), BAD, NULL_TIME),
    Hostile(_raw(b" "), BAD, NULL_TIME),
    Hostile(_raw(b"{}"), NULL_TIME, NULL_TIME),
    Hostile(_with(ts="yesterday"), BAD, NULL_TIME),
    Hostile(_with(ts={"at": 1}), BAD, NULL_TIME),
    Hostile(_with(samples="three"), BAD, NULL_SAMPLE),
    Hostile(_with(number=10**30), BAD, NULL_ID),
    Hostile(_with(ts="+99999-01-01T00:00:00Z"), BAD, BAD),
    Hostile(_with(site="west"), BAD, BAD),
    Hostile(_with(side="up"), BAD, BAD),
    Hostile(_with(samples=[1.0]), BAD, BAD),
    Hostile(_with(chances=[0.9, 0.9, 0.9]), BAD, BAD),
    Hostile(_with(chances=[0.3, -0.1, 0.3]), BAD, BAD),
    Hostile(_with(chances=[0.3, 1e300, 0.3]), BAD, BAD),
    Hostile(_with(ts=None), NULL_TIME, NULL_TIME),
    Hostile(_with(site=None), NULL_SOURCE, NULL_SOURCE),
    Hostile(_with(samples=[1.0, None, 2.0]), NULL_SAMPLE, NULL_SAMPLE),
    Hostile(_with(number=None), NULL_ID, NULL_ID),
    Hostile(_with(ts="2025-12-31T00:00:00Z"), LATE, LATE),
    Hostile(_with(ts="0001-01-01T00:00:00Z"), LATE, LATE),
)
EVERY = 100
FIRST = 50
"""The place of the first hostile message: by then the watermark has moved, and late rows are late."""


def good(number: int) -> dict[str, Any]:
    """The good message of a number: a tuple of three samples, a tenth of a second after the one before."""
    seconds, part = divmod(number, 10)
    at = START + seconds
    day, rest = divmod(at - START, 86_400)
    hour, rest = divmod(rest, 3_600)
    minute, second = divmod(rest, 60)
    centre = number * 7919 % 1000 / 100
    return {
        "ts": f"2026-01-{day + 1:02}T{hour:02}:{minute:02}:{second:02}.{part}Z",
        "site": ("north", "south")[number % 2],
        "side": ("left", "right")[number // 2 % 2],
        "number": number,
        "samples": [round(centre + shift, 3) for shift in (0, 0.01, 0.02)],
        "chances": [0.3, 0.3, 0.3],
    }


def way_of(number: int) -> Hostile | None:
    """In which way a message is hostile; None: it is good."""
    return WAYS[number // EVERY % len(WAYS)] if number % EVERY == FIRST else None


def messages(count: int) -> list[bytes]:
    """So many messages, of which one in a hundred is hostile, each way in turn."""
    ways = [way_of(number) for number in range(count)]
    return [
        json.dumps(good(number)).encode() if way is None else way.made(good(number)) for number, way in enumerate(ways)
    ]


def outcomes(count: int, engine: str) -> Counter[str]:
    """How many of so many messages end how on an engine, besides those that are answered for."""
    ways = [way_of(number) for number in range(count)]
    return Counter(getattr(way, engine) for way in ways if way is not None)


def bad_values(count: int, engine: str) -> list[str]:
    """What is told of the messages that are put aside: whole where they could not be read, else their numbers."""
    bad = [(number, way) for number in range(count) if (way := way_of(number)) and getattr(way, engine) == BAD]
    unreadable = [way for way in WAYS if way.spark != BAD]
    return sorted(
        way.made(good(number)).decode(errors="backslashreplace") if way in unreadable else str(number)
        for number, way in bad
    )


def late_numbers(count: int) -> list[int]:
    """The numbers of the messages that come late."""
    return [number for number in range(count) if (way := way_of(number)) is not None and way.spark == LATE]


def answers(count: int) -> list[dict[str, Any]]:
    """The answers of the good messages alone."""
    rows = [good(number) for number in range(count) if way_of(number) is None]
    instants = [START * SECOND + row["number"] * SECOND // 10 for row in rows]
    table = pa.table(
        {
            "ts": pa.array(instants, pa.timestamp("us", "UTC")),
            "site": [row["site"] for row in rows],
            "side": [row["side"] for row in rows],
            "number": pa.array([row["number"] for row in rows], pa.int64()),
            "samples": [row["samples"] for row in rows],
            "chances": [row["chances"] for row in rows],
        }
    )
    return local.apply(table, QUERY).to_pylist()
