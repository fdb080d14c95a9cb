"""The job format `redis`: tables of the newest answers."""

from urllib.parse import urlsplit

from skyband.errors import Problem
from skyband_jobs.formats import TableKeys

from skyband_lakes.libraries import REDIS
from skyband_lakes.redis.server import Server
from skyband_lakes.redis.sink import RedisSink
from skyband_lakes.server_format import ServerFormat

_SCORE = "score"
_SCHEMES = ("redis", "rediss", "unix")


class RedisFormat(ServerFormat):
    """The keys of a table start with its name; the option `score` is the column that sorts a group."""

    name = "redis"
    what = "server"
    own_options = (_SCORE,)

    def check(self, keys: TableKeys, on_spark: bool) -> list[Problem]:  # noqa: ARG002 - the same on both engines
        problems = self._key_problems(keys)
        if not keys.table:
            problems.append(Problem("table", "is required for redis: the start of its keys, such as board"))
        elif keys.table.startswith("skyband_"):
            problems.append(Problem("table", f"must not start like Skyband's own keys (got {keys.table!r})"))
        problems += _url_problems(keys.url)
        lacking = REDIS.missing()
        return problems if lacking is None else [*problems, Problem("format", f"redis {lacking}")]

    def write(self, keys: TableKeys) -> RedisSink:
        server = Server(keys.url or "", self._patience(keys, Server.PATIENCE))
        return RedisSink(server, keys.table or "", keys.key, keys.options.get(_SCORE))


def _url_problems(url: str | None) -> list[Problem]:
    """Problems with a URL, reported without it because it may contain a password."""
    if url is None:
        return [Problem("url", "is required for redis, such as ${BOARD_URL} or redis://127.0.0.1:6379/0")]
    try:
        parts = urlsplit(url)
        fine = parts.scheme in _SCHEMES and (parts.hostname or parts.path) and (parts.port or 1)
    except ValueError:  # the port is not a number
        fine = False
    return [] if fine else [Problem("url", "must be written redis://user:password@host:6379/0, rediss:// or unix://")]
