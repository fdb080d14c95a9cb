"""A Redis server, with retries while it is away."""

import time
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from attrs import define
from skyband.errors import EngineError

from skyband_lakes.libraries import REDIS

T = TypeVar("T")
_PASSES = ("LOADING", "READONLY", "MASTERDOWN", "TRYAGAIN", "BUSY", "CLUSTERDOWN")
"""Prefixes of errors of a server that is starting or being replaced."""
_ANSWERS_WITHIN = 30.0
_LONGEST = 2.0


@define(eq=False)
class Server:
    """The server at a URL. Each call has its own connection, so none is stale.

    patience: seconds to wait for a server that is away.
    """

    PATIENCE: ClassVar[float] = 60.0

    url: str
    patience: float = PATIENCE

    @property
    def name(self) -> str:
        """The URL without user, password and options."""
        parts = urlsplit(self.url)
        place = parts.hostname or ""
        return f"{parts.scheme}://{place}{f':{parts.port}' if parts.port else ''}{parts.path}"

    def once(self, work: Callable[[Any], T]) -> T:
        """Call `work` with a client. Raises EngineError if the server is away or refuses."""
        return self._run(work, 0)

    def until_done(self, work: Callable[[Any], T]) -> T:
        """`once`, but wait for a server that is away. `work` must be idempotent: an answer may be lost on its way."""
        return self._run(work, self.patience)

    def _run(self, work: Callable[[Any], T], patience: float) -> T:
        begun, attempts = time.monotonic(), 0
        while True:
            try:
                with self._connected() as client:
                    return work(client)
            except REDIS.imported().RedisError as error:
                if not _passes(error) or time.monotonic() - begun >= patience:
                    raise EngineError(self._reason(error)) from error
                attempts += 1
            time.sleep(min(0.05 * 2**attempts, _LONGEST))

    def _connected(self) -> Any:
        return REDIS.imported().Redis.from_url(
            self.url, decode_responses=True, socket_timeout=_ANSWERS_WITHIN, socket_connect_timeout=_ANSWERS_WITHIN
        )

    def _reason(self, error: Exception) -> str:
        reason = " ".join(str(error).split())
        remedy = "check that it runs" if _passes(error) else "check its URL, its rights and its memory"
        return f"the server {self.name}: {reason}: {remedy}, and run again"


def _passes(error: Exception) -> bool:
    errors = REDIS.imported("exceptions")
    if isinstance(error, errors.AuthenticationError | errors.AuthorizationError):  # subclasses of connection errors
        return False
    return isinstance(error, errors.ConnectionError | errors.TimeoutError) or str(error).startswith(_PASSES)
