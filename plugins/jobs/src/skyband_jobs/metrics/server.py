"""A web server for metrics on this machine: idle clients hold at most ten threads, and web pages get nothing."""

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

_AT_ONCE = 10
"""Concurrent requests; further connections are closed."""
_SECONDS = 10.0
"""The longest time a connection lasts."""
_REFUSAL = b"403: ask for 127.0.0.1 or localhost\n"

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class LoopbackServer(WSGIServer):
    """Answers a few requests at a time, each in a thread that ends within seconds."""

    request_queue_size = _AT_ONCE

    def __init__(self, host: str, port: int, application: Application) -> None:
        """Raises OSError where the port is taken."""
        self.address_family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        self._free = threading.BoundedSemaphore(_AT_ONCE)
        super().__init__((host, port), _QuietHandler)
        self.set_app(for_loopback_names(application))

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, or close the connection if there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        threading.Thread(target=self._answer, args=(request, client_address), daemon=True).start()

    def _answer(self, request: socket.socket, client_address: Any) -> None:
        limit = threading.Timer(_SECONDS, _hang_up, (request,))
        limit.daemon = True
        limit.start()
        try:
            self.finish_request(request, client_address)
        except OSError:  # the client, or the time limit, closed the connection
            return
        finally:
            limit.cancel()
            self.shutdown_request(request)
            self._free.release()


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Keep the run's output clean."""


def for_loopback_names(application: Application) -> Application:
    """Answer only requests for this machine by name: DNS rebinding makes a web page ask by its own name."""

    def checked(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        host = environ.get("HTTP_HOST")
        if host is None or is_loopback(host):
            return application(environ, start_response)
        start_response("403 Forbidden", [("Content-Type", "text/plain"), ("Content-Length", str(len(_REFUSAL)))])
        return [_REFUSAL]

    return checked


def is_loopback(host: str) -> bool:
    """Whether a Host header, with or without a port, is a loopback name."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _hang_up(request: socket.socket) -> None:
    try:
        request.shutdown(socket.SHUT_RDWR)
    except OSError:  # it has just ended
        return
