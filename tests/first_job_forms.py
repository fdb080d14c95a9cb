"""Files that nobody has described, 600 rows each, for jobs to begin with."""

import datetime
import gzip
import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen

START = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
ROWS = [
    (
        START + datetime.timedelta(seconds=7 * number - (number % 5 == 4) * 17),
        f"c{number * number % 11}",
        number % 97 / 2,
    )
    for number in range(600)
]
NAMES = ("when", "who", "ms")


@frozen
class Raw:
    """A file as it comes, and what is said of it."""

    content: bytes
    said: tuple[str, ...]


def separated(write: Callable[[datetime.datetime], Any], mark: str = ",", header: bool = True) -> bytes:
    """The rows with their times written so."""
    lines = [mark.join((str(write(time)), who, str(ms))) for time, who, ms in ROWS]
    return ("\n".join([*([mark.join(NAMES)] if header else []), *lines]) + "\n").encode()


def _lines(write: Callable[[int, datetime.datetime, str, float], str]) -> bytes:
    return "".join(f"{write(number, *row)}\n" for number, row in enumerate(ROWS)).encode()


def _seconds(time: datetime.datetime) -> str:
    return f"{time.timestamp() + 0.25:.3f}"


def _parquet() -> bytes:
    times, whos, values = zip(*ROWS, strict=True)
    out = io.BytesIO()
    columns = {"when": pa.array(times, pa.timestamp("us", "UTC")), "who": whos, "ms": values}
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def _geojson() -> bytes:
    features = [
        {
            "type": "Feature",
            "properties": {"time": int(time.timestamp() * 1000), "place": who, "mag": ms, "tz": None},
            "geometry": {"type": "Point", "coordinates": [ms, -ms]},
        }
        for time, who, ms in ROWS
    ]
    return json.dumps({"type": "FeatureCollection", "metadata": {"n": 600}, "features": features}, indent=1).encode()


def _request(number: int, time: datetime.datetime, who: str, ms: float) -> str:
    size = "-" if number % 9 == 0 else int(ms)
    request = f'"GET /{number % 13} HTTP/1.1" {404 if number % 7 == 0 else 200} {size}'
    return f"10.0.0.{who[1:]} - - [{time:%d/%b/%Y:%H:%M:%S} +0000] {request}"


def _nested(number: int, time: datetime.datetime, who: str, ms: float) -> str:
    return json.dumps({"event": {"time": time.isoformat(), "user": {"id": who}, "none": None}, "ms": ms})


def _american(time: datetime.datetime) -> str:
    return f"{time.month}/{time.day}/{time.year} {time.hour % 12 or 12}:{time:%M:%S %p}"


FORMS = {
    "iso.csv": Raw(separated(lambda time: time.isoformat()), ("the first line names the columns", "when, a time")),
    "nameless.csv": Raw(
        separated(lambda time: f"{time:%Y-%m-%d %H:%M:%S}", header=False), ("no line names the columns",)
    ),
    "millis.tsv": Raw(
        separated(lambda time: int(time.timestamp() * 1000), "\t"), (r"between '\t'", "when, milliseconds since 1970")
    ),
    "american.csv": Raw(
        separated(_american), ("M/d/yyyy h:mm:ss a", "all of it can also be read as d/M/yyyy h:mm:ss a")
    ),
    "nested.jsonl.gz": Raw(
        gzip.compress(_lines(_nested), mtime=0), ("compressed", "one object a line", "time, ISO 8601")
    ),
    "when.parquet": Raw(_parquet(), ("when, a time",)),
    "quakes.geojson": Raw(_geojson(), ("rows are in the list features", "time, milliseconds since 1970")),
    "access_log": Raw(_lines(_request), ("text, one row a line", "ts, dd/MMM/yyyy:HH:mm:ss Z")),
    "squid.log": Raw(
        _lines(lambda number, time, who, ms: f"{_seconds(time)} {number % 300:6} 10.0.0.{who[1:]} HIT/200 GET /{ms}"),
        ("ts, seconds since 1970",),
    ),
    "fractions.csv": Raw(separated(_seconds), ("when, seconds since 1970",)),
    "app.log": Raw(
        _lines(
            lambda number, time, who, ms: f"{time:%Y-%m-%d %H:%M:%S},120 {'WARN' if number % 7 else 'INFO'} {who} did"
        )
        + b"Traceback\n  at main\n",
        ("2 lines without such a time are left out", "ts, ISO 8601"),
    ),
    "ratings.dat": Raw(
        _lines(lambda number, time, who, ms: f"{number % 50}::{number % 31}::{time.timestamp():.0f}"),
        ("values between '::'", "_c2, seconds since 1970"),
    ),
    "day_and_clock.csv": Raw(
        b"day,at,who\n" + _lines(lambda number, time, who, ms: f"{time:%m/%d/%Y},{time:%H:%M:%S},{who}"),
        ("day and at, M/d/yyyy H:mm:ss",),
    ),
    "calendar.csv": Raw(
        b"year,month,day,hour,who,ms\n"
        + _lines(
            lambda number, time, who, ms: f"2026,3,{1 + number // 24},{number % 24},{who},{ms if number % 7 else 'NA'}"
        ),
        ("'NA' is null", "ts, year, month, day, hour"),
    ),
    "europe.csv": Raw(
        "wann;wer;Größe\n".encode("latin1")
        + _lines(lambda number, time, who, ms: f"{time:%d.%m.%Y %H:%M};{who};1.{int(ms):03},50"),
        ("not UTF-8: read as windows-1252", "numbers as 1.234,50: Größe", "wann, d.M.yyyy H:mm"),
    ),
    "comments.csv": Raw(
        b"# made by\n# hand, yes\n" + separated(lambda time: time.isoformat()),
        ("lines that start with # are comments",),
    ),
}
