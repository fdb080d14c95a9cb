"""Distinct keys since a moment, by the definition: last[x] is the latest time of x, n(t) = |{x : last[x] >= t}|."""

from skyband_specs.sketch.streams import SketchStream


def last_seen(stream: SketchStream, stop: int) -> dict[int, int]:
    """The latest time of each key in the first `stop` rows."""
    last: dict[int, int] = {}
    for time, key in zip(stream.times[:stop].tolist(), stream.keys[:stop].tolist(), strict=True):
        last[key] = max(time, last.get(key, time))
    return last


def distinct_since(stream: SketchStream, stop: int, since: int) -> int:
    """The number of keys with a time >= `since` in the first `stop` rows."""
    return sum(time >= since for time in last_seen(stream, stop).values())
