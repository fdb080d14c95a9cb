"""One thread that answers questions, one after the other, so that many of them do not hold up the turns."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from skyband_serve.web.refused_error import RefusedError

MOST_WAITING = 32
SECONDS = 5.0
"""How long a request may wait and be worked on."""
_SLOW = f"this takes more than {SECONDS:g} seconds: ask for fewer groups or windows, or ask later"
_BUSY = f"{MOST_WAITING} requests are waiting already: ask later"

Check = Callable[[], None]
Work = Callable[[Check], bytes]
"""Does a request's work; calls its argument now and then, which raises RefusedError if it takes too long."""


class Worker:
    """A thread for the requests of an event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="skyband-ask")
        self._waiting = 0

    async def do(self, work: Work) -> bytes:
        """What the work returns. Raises what it raises, and RefusedError if too many wait or it takes too long."""
        if self._waiting >= MOST_WAITING:
            raise RefusedError(429, _BUSY, {"retry-after": "1"})
        end = time.monotonic() + SECONDS

        def check() -> None:
            if time.monotonic() > end:
                raise RefusedError(503, _SLOW)

        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, work, check)
        future.add_done_callback(self._has_ended)
        try:
            return await asyncio.wait_for(future, SECONDS)
        except TimeoutError as error:
            raise RefusedError(503, _SLOW) from error

    def _has_ended(self, future: "asyncio.Future[bytes]") -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # its request may have been answered already

    def stop(self) -> None:
        """Drop what waits; what is being worked on goes on to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
