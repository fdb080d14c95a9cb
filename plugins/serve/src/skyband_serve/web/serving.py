"""Opens the port of a service in another thread, and closes it."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from skyband.errors import ConfigError, Problem
from skyband.registry.module_import import cause
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.progress import Progress

from skyband_serve.published import Board
from skyband_serve.settings import Address, ServeSettings

if TYPE_CHECKING:
    from uvicorn import Server

KEY = "serve.http"
_BACKLOG = 128
_STOP = 2
"""Seconds that requests have to end when the port is closed."""


@contextmanager
def serving(job: CheckedJob, board: Board, settings: ServeSettings, progress: Progress) -> Iterator[Address | None]:
    """Serve a board over HTTP; gives the address, None where the job opens no port.

    Raises ConfigError where the address cannot be listened on.
    """
    if settings.address is None:
        yield None
        return
    with _listening(settings.address) as listener:
        import uvicorn

        from skyband_serve.web.app import MOST_HEAD, App
        from skyband_serve.web.connections import IDLE, LimitedProtocol, LimitedServer
        from skyband_serve.web.endpoint import Service
        from skyband_serve.web.figures import Figures

        figures = Figures(job, board)
        app = App(Service(job, board, figures), settings, progress.note)
        config = uvicorn.Config(
            app, http=LimitedProtocol, ws="none", interface="asgi3", lifespan="off", loop="asyncio",
            proxy_headers=False, log_config=None, log_level="critical", access_log=False, server_header=False,
            backlog=_BACKLOG, timeout_keep_alive=int(IDLE), timeout_graceful_shutdown=_STOP,
            h11_max_incomplete_event_size=MOST_HEAD,
        )  # fmt: skip
        server = LimitedServer(config)
        thread = threading.Thread(target=_run, args=(server, listener, progress), name="skyband-port", daemon=True)
        board.listeners.append(figures.take)
        progress.listeners.append(figures.run.tell)
        thread.start()
        address = Address(settings.address.host, listener.getsockname()[1])
        progress.note(f"listening on http://{address}, described by /openapi.json")
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join()
            app.stop()
            board.listeners.remove(figures.take)
            progress.listeners.remove(figures.run.tell)


def _run(server: "Server", listener: socket.socket, progress: Progress) -> None:
    try:
        asyncio.run(server.serve(sockets=[listener]))
    except (Exception, SystemExit) as error:  # the job goes on without its port
        progress.note(f"warning: the port has ended: {cause(error)}")


@contextmanager
def _listening(address: Address) -> Iterator[socket.socket]:
    """A socket that listens on an address. Raises ConfigError where it cannot."""
    listener = None
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(_BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        message = f"{address} cannot be listened on: {error.strerror or error}"
        remedy = "choose another port, one for each job, or stop what uses it"
        raise ConfigError(Problem(KEY, f"{message}; {remedy}")) from error
    with listener:
        yield listener
