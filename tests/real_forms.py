"""Files as programs write them, a few rows each, with the times that are meant."""

import datetime
import json
import random
from collections.abc import Callable

from attrs import frozen

_RANDOM = random.Random(3)
_START = datetime.datetime(2026, 1, 27, 22, 5, 7, 120_000, datetime.UTC)
TIMES = [_START + datetime.timedelta(minutes=101 * number, milliseconds=37 * number) for number in range(90)]
"""Over six days, from one month to the next."""
_EARLY = [datetime.datetime(2026, 3, 1, 9, tzinfo=datetime.UTC) + datetime.timedelta(hours=5 * n) for n in range(50)]
"""Over ten days, whose numbers may be months too."""
_WHO = [f"host{_RANDOM.randrange(7)}" for _ in range(200)]
_LEVELS = [_RANDOM.choice(["INFO", "WARN", "ERROR"]) for _ in range(200)]
_YEAR = datetime.datetime.now(datetime.UTC).year
_SECONDS, _MINUTES, _DAYS, _MILLIS = "seconds", "minutes", "days", "milliseconds"


@frozen
class Real:
    """A file: its bytes, the column of its times, and these."""

    content: bytes
    time: str
    times: list[datetime.datetime]
    job: str = ""
    """What the job has besides."""
    nulls: int = 0
    """Rows without a time."""


def _cut(times: list[datetime.datetime], to: str) -> list[datetime.datetime]:
    less = {_SECONDS: {"microsecond": 0}, _MINUTES: {"second": 0, "microsecond": 0}, _MILLIS: {}}
    less[_DAYS] = {"hour": 0, **less[_MINUTES], "minute": 0}
    return [time.replace(**less[to]) for time in times]


def _real(
    line: Callable[[int, datetime.datetime], str],
    time: str,
    to: str,
    begin: str = "",
    *,
    times: list[datetime.datetime] = TIMES,
    encoding: str = "utf-8",
    job: str = "",
    end: str = "",
    sep: str = "\n",
) -> Real:
    text = begin + "".join(line(number, moment) + sep for number, moment in enumerate(times)) + end
    return Real(text.encode(encoding), time, _cut(times, to), job)


def _w3c(number: int, time: datetime.datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S} 10.0.0.{number % 9} GET /{number % 5} - 443 - 192.0.2.1 Mozilla/5.0 200 0 0 15"


def _nulls(mark: str) -> Real:
    lines = [
        f"{number},{_WHO[number]},{mark if number % 9 == 4 else f'{time:%d.%m.%Y %H:%M}'}\n"
        for number, time in enumerate(TIMES)
    ]
    times = [time for number, time in enumerate(_cut(TIMES, _MINUTES)) if number % 9 != 4]
    return Real(("id,who,seen\n" + "".join(lines)).encode(), "seen", times, nulls=10)


def _event(number: int, time: datetime.datetime) -> str:
    payload = {"push_id": number, "size": 1, "commits": [{"sha": "a" * 40}]}
    actor, repo = {"id": number % 5, "login": _WHO[number]}, {"id": number % 3, "name": f"a/b{number % 3}"}
    stamp = f"{time:%Y-%m-%dT%H:%M:%SZ}"
    return json.dumps(
        {
            "id": str(2**34 + number),
            "type": "PushEvent",
            "actor": actor,
            "repo": repo,
            "payload": payload,
            "public": True,
            "created_at": stamp,
        }
    )


def _apache(number: int, time: datetime.datetime) -> str:
    return (
        f'10.0.0.{number % 9} - - [{time:%d/%b/%Y:%H:%M:%S} +0000] "GET /{number % 5} HTTP/1.1" 200 {number} "-" "curl"'
    )


_YEARLESS = [time.replace(year=_YEAR, month=1, day=1 + (number > 45)) for number, time in enumerate(TIMES)]
_YEARLESS.sort()
_DATES = [datetime.datetime(2025, 2, 1, tzinfo=datetime.UTC) + datetime.timedelta(days=n) for n in range(60)]
_NEWEST_FIRST = _cut(TIMES, _SECONDS)[::-1]

REAL = {
    "pandas.csv": _real(lambda n, t: f"{n},{t:%Y-%m-%d %H:%M:%S},{_WHO[n]},{n / 8}", "time", _SECONDS, ",time,who,v\n"),
    "r.csv": _real(
        lambda n, t: f'"{n + 1}","{t:%Y-%m-%d %H:%M:%S}","{_WHO[n]}",{"NA" if n % 4 == 0 else n}', "time", _SECONDS,
        '"","time","who","v"\n',
    ),
    "oracle.csv": _real(
        lambda n, t: f'{n},"{t:%d-%b-%y %I.%M.%S}.{t.microsecond:06}000 {t:%p}",{_WHO[n]}'.upper(), "CREATED", _MILLIS,
        '"ID","CREATED","WHO"\n',
    ),
    "oracle_days.csv": _real(
        lambda n, t: f"{n},{t:%d-%b-%y},{_WHO[n]}".upper(), "DAY", _DAYS, "ID,DAY,WHO\n",
    ),
    "mail.csv": _real(
        lambda n, t: f'"{t:%a, %d %b %Y %H:%M:%S} {"GMT" if n % 2 else "+0000"}",{_WHO[n]}', "date", _SECONDS,
        "date,from\n",
    ),
    "excel.csv": _real(
        lambda n, t: f"{t:%d.%m.%Y %H:%M};{_WHO[n]};{n},5", "Zeit", _MINUTES, "\ufeffZeit;Wer;Größe\r\n", sep="\r\n",
    ),
    "commas.csv": _real(
        lambda n, t: f'"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03}",{_WHO[n]}', "asctime", _MILLIS,
        "asctime,name\n",
    ),
    "seconds.csv": _real(lambda n, t: f"{int(t.timestamp())},{_WHO[n]}", "ts", _SECONDS, "ts,who\n"),
    "micros.tsv": _real(
        lambda n, t: f"{int(t.timestamp()) * 10**6 + t.microsecond}\t{_WHO[n]}", "ts", _MILLIS, "ts\twho\n"
    ),
    "compact.csv": _real(lambda n, t: f"{t:%Y%m%d%H%M%S},{_WHO[n]}", "at", _SECONDS, "at,who\n"),
    "basic.csv": _real(lambda n, t: f"{t:%Y%m%dT%H%M%SZ},{_WHO[n]}", "at", _SECONDS, "at,who\n"),
    "report.csv": _real(
        lambda n, t: f"{t:%m/%d/%Y %H:%M},{_WHO[n]},{n}", "When", _MINUTES,
        'Station 7, "the old one\nmade by hand\n\nWhen,Who,Count\n', job="skipRows = 3",
    ),
    "twice.csv": _real(
        lambda n, t: f"{t:%Y-%m-%d %H:%M:%S},{n},{n % 5}", "time", _SECONDS, "time,value,value\n", job="value_2 LONG",
    ),
    "british.csv": _real(
        lambda n, t: f"{t:%d/%m/%Y %H:%M},{_WHO[n]}", "when", _MINUTES, "when,who\n", times=_EARLY,
        job="could also be M/d/yyyy H:mm, which puts the rows in a worse order",
    ),
    "american.csv": _real(
        lambda n, t: f"{t:%m/%d/%Y %H:%M},{_WHO[n]}", "when", _MINUTES, "when,who\n", times=_EARLY,
        job="could also be d/M/yyyy H:mm, which puts the rows in a worse order",
    ),
    "newest_first.csv": _real(
        lambda n, t: f"{t:%Y-%m-%d %H:%M:%S},{_WHO[n]}", "time", _SECONDS, "time,who\n", times=_NEWEST_FIRST,
        job="rows are newest first",
    ),
    "years.csv": _real(
        lambda n, t: f"{t.year},{t.month},{t.day},{n % 9}", "ts", _DAYS, "Yr,Mo,Dy,rain\n", times=_DATES,
    ),
    "access.log": _real(_apache, "ts", _SECONDS),
    "error.log": _real(
        lambda n, t: f"[{t:%a %b %d %H:%M:%S.%f %Y}] [core:error] [pid {n}] AH00037: {_WHO[n]}", "ts", _MILLIS,
    ),
    "nginx_error.log": _real(lambda n, t: f"{t:%Y/%m/%d %H:%M:%S} [error] 7#7: *{n} open() {_WHO[n]}", "ts", _SECONDS),
    "syslog": _real(
        lambda n, t: f"{t:%b} {t.day:2} {t:%H:%M:%S} {_WHO[n]} sshd[{n}]: Accepted", "ts", _SECONDS, times=_YEARLESS,
        job="these times have no year",
    ),
    "hdfs.log": _real(
        lambda n, t: f"{t:%y%m%d %H%M%S} {n} {_LEVELS[n]} dfs.DataNode$PacketResponder: {_WHO[n]}", "ts", _SECONDS,
    ),
    "spark.log": _real(
        lambda n, t: f"{t:%y/%m/%d %H:%M:%S} {_LEVELS[n]} executor.Executor: Finished task {n}.0", "ts", _SECONDS,
        end="java.lang.Exception\n\tat a.b\n",
    ),
    "bgl.log": _real(
        lambda n, t: f"- {int(t.timestamp())} {t:%Y.%m.%d} R02-M1-N0 {t:%Y-%m-%d-%H.%M.%S.%f} R02 RAS KERNEL INFO x{n}",
        "ts", _SECONDS,
    ),
    "bracket.log": _real(lambda n, t: f"[{t:%Y-%m-%d %H:%M:%S}] app.{_LEVELS[n]}: {_WHO[n]} []", "ts", _SECONDS),
    "java.log": _real(
        lambda n, t: f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03} {_LEVELS[n]} [main] org.a.B: {_WHO[n]}", "ts",
        _SECONDS,
    ),
    "android.log": _real(
        lambda n, t: f"{t:%m-%d %H:%M:%S}.{t.microsecond // 1000:03}  17{n:02}  2395 D Window: {_WHO[n]}",
        "ts", _MILLIS, times=_YEARLESS,
    ),
    "iis.log": _real(
        _w3c, "ts", _SECONDS,
        "#Software: IIS 10.0\n#Date: 2026-01-01 00:00:00\n#Fields: date time s-ip cs-method cs-uri-stem\n",
    ),
    "lines.jsonl": _real(lambda n, t: json.dumps({"t": t.timestamp(), "who": _WHO[n]}), "t", _MILLIS),
    "events.json": _real(_event, "created_at", _SECONDS),
    **{f"null_{n}.csv": _nulls(mark) for n, mark in enumerate(["NA", "NULL", "N/A", r"\N", "-", "None", "?"])},
}  # fmt: skip

REFUSED = {
    "dy.csv": (
        "Dy,MxT,MnT\n" + "".join(f"{n},{n + 60},{n + 40}\n" for n in range(1, 31)),
        "'Dy' is only part of a date",
    ),
    "clock.csv": ("at,v\n" + "".join(f"{n // 3:02}:{n % 60:02},{n % 7}\n" for n in range(60)), "no column of times"),
}
"""Files of which no job can be made, and what is said of them."""
