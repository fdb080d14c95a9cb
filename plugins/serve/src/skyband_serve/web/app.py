"""Answers requests: who may ask, what they ask, and what they are told otherwise. An ASGI application."""

import json
from collections.abc import Awaitable, Callable, Mapping
from hmac import compare_digest
from typing import Any

from skyband.config.redaction import redact
from skyband.errors import InputError, SkybandError
from skyband.registry.module_import import cause
from skyband_jobs.metrics.server import is_loopback

from skyband_serve.published import MOST_BYTES
from skyband_serve.published_states import PublishedStates
from skyband_serve.settings import ServeSettings
from skyband_serve.web.arrow_stream import MEDIA_TYPE
from skyband_serve.web.endpoint import Endpoint, Inquiry, Reply, Service
from skyband_serve.web.endpoints import PATHS, no_such_path
from skyband_serve.web.query_string import request_of
from skyband_serve.web.refused_error import RefusedError
from skyband_serve.web.worker import Worker

MOST_HEAD = 16 << 10
"""Bytes of a request: its first line and headers."""
_SENDING = 2 * MOST_BYTES
"""Bytes of replies that clients have not taken yet."""
_CHUNK = 64 << 10
_CACHED, _CACHED_BYTES = 64, 64 << 10
"""Answers that are kept until the states change, and the bytes of the largest of them."""
_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}

Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class App:
    """The application. Made and called in the thread of the port."""

    def __init__(self, service: Service, settings: ServeSettings, note: Callable[[str], None]) -> None:
        self._service, self._note, self._worker = service, note, Worker()
        self._token = None if settings.token is None else settings.token.encode()
        self._only_loopback = settings.address is not None and settings.address.is_loopback
        self._sending = 0

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Send) -> None:  # noqa: ARG002 - no bodies
        headers = dict[str, str]()
        try:
            reply = await self._reply(scope)
        except RefusedError as error:
            reply, headers = _error(error.status, str(error)), {**error.headers}
        except InputError as error:  # it says what was sent: hiding secrets in it would tell whether a guess is one
            reply = _error(400, str(error))
        except Exception as error:  # a request must not end the service
            reason = str(error) if isinstance(error, SkybandError) else cause(error)
            self._note(redact(f"warning: {scope['path']!r:.100} could not be answered: {reason}"))
            reply = _error(500, redact(reason))
        if _has_body(scope):
            headers["connection"] = "close"
        await self._send(reply, headers, send)

    def stop(self) -> None:
        """Drop requests that wait."""
        self._worker.stop()

    async def _reply(self, scope: Mapping[str, Any]) -> Reply:
        headers = dict[bytes, bytes](scope["headers"])
        trusted = self._admit(scope, headers)
        endpoint = PATHS.get(scope["path"])
        if endpoint is None or not (trusted or endpoint.is_open):
            if not trusted:
                message = "needs the token of the job, sent as `Authorization: Bearer …`"
                raise RefusedError(401, message, {"www-authenticate": "Bearer"})
            raise no_such_path()
        if scope["method"] not in ("GET", "HEAD"):
            raise RefusedError(405, "this is read only: use GET", {"allow": "GET, HEAD"})
        if _has_body(scope):
            raise RefusedError(400, "has a body: send none")
        return await self._answer(
            endpoint, scope["query_string"], headers.get(b"accept", b"").decode("latin-1"), trusted
        )

    def _admit(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> bool:
        """Whether a request is trusted. Raises RefusedError if it is too long, or asks for another machine."""
        head = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        if head + len(scope["raw_path"]) + len(scope["query_string"]) > MOST_HEAD:
            raise RefusedError(431, f"is longer than {MOST_HEAD >> 10} KB")
        host = headers.get(b"host")
        if self._only_loopback and host is not None and not is_loopback(host.decode("latin-1")):
            raise RefusedError(403, "ask for 127.0.0.1 or localhost")
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        return self._token is None or (scheme.lower() == b"bearer" and compare_digest(token.strip(), self._token))

    async def _answer(self, endpoint: Endpoint, query: bytes, accept: str, trusted: bool) -> Reply:
        now = self._service.board.now
        arrow = endpoint.arrow and MEDIA_TYPE in accept.lower()
        media_type = MEDIA_TYPE if arrow else endpoint.media_type
        cache = _cache_of(endpoint, now.states)
        key = f"{arrow} {query.decode('latin-1')}"
        if key in cache:
            return Reply(cache[key], media_type)
        request = request_of(query, endpoint.options(), endpoint.of_groups)
        answer = endpoint.answer(Inquiry(self._service, now, request, arrow, accept, trusted))
        if isinstance(answer, Reply):
            return answer
        body = await self._worker.do(answer)
        if len(body) <= _CACHED_BYTES and len(cache) < _CACHED:
            cache[key] = body
        return Reply(body, media_type)

    async def _send(self, reply: Reply, headers: Mapping[str, str], send: Send) -> None:
        """Send a reply in pieces, so that slow clients hold no copies of it."""
        if self._sending + len(reply.body) > _SENDING:
            reply, headers = _error(503, "other clients are taking large answers: ask later"), {"retry-after": "1"}
        self._sending += len(reply.body)
        try:
            lines = {**_HEADERS, "content-type": reply.media_type, "content-length": str(len(reply.body)), **headers}
            encoded = [(name.encode(), value.encode("latin-1")) for name, value in lines.items()]
            await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
            view = memoryview(reply.body)
            for start in range(0, len(view), _CHUNK):
                await send({"type": "http.response.body", "body": view[start : start + _CHUNK], "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._sending -= len(reply.body)


def _has_body(scope: Mapping[str, Any]) -> bool:
    """Whether a request has a body, or may have one."""
    headers = dict(scope["headers"])
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def _error(status: int, message: str) -> Reply:
    return Reply(json.dumps({"error": message}).encode(), status=status)


def _cache_of(endpoint: Endpoint, states: PublishedStates | None) -> dict[str, bytes]:
    return states.answered if states is not None and endpoint.path == "/ask" else {}
