"""Redis as a format of jobs: a table that holds the newest answers."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from skyband.errors import ConfigError, Problem, suggest
from skyband.tables import Format, TableKeys

from skyband_lakes.libraries import REDIS
from skyband_lakes.redis.server import Server
from skyband_lakes.redis.sink import RedisSink

_SCORE, _PATIENCE = "score", "retry_seconds"
_SCHEMES = ("redis", "rediss", "unix")


class RedisFormat(Format):
    """A table is `table`, with which its keys begin, at the server of `url`; of `options`, `score` names the column
    that sorts a group, and `retry_seconds` says how long a server that is away is waited for."""

    def check(self, keys: TableKeys, on_spark: bool) -> list[Problem]:  # noqa: ARG002 - the same on both engines
        problems = [
            Problem(name, f"{remedy} (got format 'redis')")
            for name, remedy in (("path", "is of files: name the server with url"), ("catalog", "drop it"))
            if getattr(keys, name)
        ]
        if not keys.table:
            problems.append(Problem("table", "is required for redis: how its keys begin, such as board"))
        elif keys.table.startswith("skyband_"):
            problems.append(Problem("table", f"begins as what Skyband notes beside it does (got {keys.table!r})"))
        problems += _url_problems(keys.url)
        problems += [
            Problem(f"options.{name}", f"is not known to redis; {suggest(name, (_SCORE, _PATIENCE))}")
            for name in keys.options
            if name not in (_SCORE, _PATIENCE)
        ]
        text = str(keys.options.get(_PATIENCE, 0))
        if not text.replace(".", "", 1).isdecimal():
            problems.append(Problem(f"options.{_PATIENCE}", f"must be a number of seconds (got {text!r})"))
        lacking = REDIS.missing()
        return problems if lacking is None else [*problems, Problem("format", f"redis {lacking}")]

    def write(self, keys: TableKeys) -> RedisSink:
        server = Server(keys.url or "", float(keys.options.get(_PATIENCE, Server.PATIENCE)))
        return RedisSink(server, keys.table or "", keys.key, keys.options.get(_SCORE))

    def keys(self, place: str, options: Mapping[str, Any]) -> TableKeys:
        further = {name: value for name, value in options.items() if name != "table"}
        keys = TableKeys(url=place, table=options.get("table"), options=further)
        problems = self.check(keys, on_spark=False)
        if problems:
            raise ConfigError(*problems)
        return keys


def _url_problems(url: str | None) -> list[Problem]:
    """Said without the URL, which may hold a password."""
    if url is None:
        return [Problem("url", "is required for redis, such as ${BOARD_URL} or redis://127.0.0.1:6379/0")]
    try:
        parts = urlsplit(url)
        fine = parts.scheme in _SCHEMES and (parts.hostname or parts.path) and (parts.port or 1)
    except ValueError:  # a port that is no number
        fine = False
    return [] if fine else [Problem("url", "must be written redis://user:password@host:6379/0, rediss:// or unix://")]
