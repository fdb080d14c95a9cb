"""The connections of the port: how many there may be, and how long one may take."""

import asyncio
import socket

from uvicorn import Server
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 100
IDLE = 10.0
"""Seconds until a request must be whole, from the connection or the request before on."""
ANSWERING = 60.0
"""Seconds in which it must be answered, and the client must have taken the answer."""


class LimitedProtocol(H11Protocol):
    """Uvicorn's protocol, which leaves connections that send or take nothing open for ever."""

    _end: asyncio.TimerHandle | None = None
    _is_answering = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close it at once if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            self._allow(IDLE)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget its end."""
        self._allow(None)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Give a request that is whole the time for its answer."""
        super().handle_events()
        if not self._is_answering and self.cycle is not None and not self.cycle.response_complete:
            self._is_answering = True
            self._allow(ANSWERING)

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the client to take this answer."""
        self._is_answering = False
        self._allow(ANSWERING if self.transport.get_write_buffer_size() else IDLE)
        super().on_response_complete()

    def _allow(self, seconds: float | None) -> None:
        if self._end is not None:
            self._end.cancel()
        self._end = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)


class LimitedServer(Server):
    """Uvicorn's server, which ends with connections left open whose clients take nothing."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Give requests a moment to end, and close what is left."""
        await super().shutdown(sockets)
        for connection in [*self.server_state.connections]:
            connection.transport.abort()
        await asyncio.sleep(0)
