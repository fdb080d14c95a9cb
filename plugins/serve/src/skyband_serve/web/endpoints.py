"""What the port serves: the one list from which requests are answered and the description is made."""

import json
from typing import Any

from skyband.config.redaction import redact
from skyband.instants import instant
from skyband.version import __version__

from skyband_serve.web import answers, asking
from skyband_serve.web.endpoint import Endpoint, Inquiry, Reply
from skyband_serve.web.openapi import description
from skyband_serve.web.refused_error import RefusedError
from skyband_serve.web.worker import Work


def _health(inquiry: Inquiry) -> Reply:
    reason = inquiry.service.board.ailment
    more = {} if reason is None or not inquiry.trusted else {"reason": redact(reason)}
    body = {"status": "well" if reason is None else "unwell", **more}
    return Reply(json.dumps(body).encode(), status=200 if reason is None else 503)


def _state(inquiry: Inquiry) -> Reply:
    about, now, job = inquiry.now.about, inquiry.now, inquiry.service.job
    mark = about.get("watermark")
    body: dict[str, Any] = {"job": job.name, "kind": job.query.kind, "version": __version__, "turn": now.turn, **about}
    if mark is not None and not job.query.rows:
        body["watermark"] = f"{instant(mark).isoformat()}+00:00"
    return Reply(json.dumps(body, default=str).encode())


def _metrics(inquiry: Inquiry) -> Reply:
    return Reply(*inquiry.service.figures.text(inquiry.accept))


def _ask(inquiry: Inquiry) -> Work:
    work = asking.ask(inquiry.service.job, inquiry.now, inquiry.request, inquiry.arrow)
    return inquiry.service.figures.timed(work)


def _answers(inquiry: Inquiry) -> Work:
    return answers.answers(inquiry.service.job, inquiry.now, inquiry.request, inquiry.arrow)


def _description(inquiry: Inquiry) -> Reply:
    return Reply(json.dumps(description(inquiry.service.job, ENDPOINTS), indent=2).encode())


_BUSY = {429: "too many requests wait", 503: "it takes too long, or nothing has been answered yet"}

ENDPOINTS = (
    Endpoint(
        "/ask", "Any window of the newest states, as `skyband ask` answers it.", _ask,
        options=asking.options, of_groups=True, arrow=True, statuses=_BUSY,
    ),
    Endpoint(
        "/answers", "The newest answers, or all since a moment or a turn.", _answers,
        options=lambda: answers.OPTIONS, of_groups=True, arrow=True, statuses=_BUSY,
    ),
    Endpoint(
        "/healthz", "Whether the service can do its work; the reason, if it cannot, needs the token.", _health,
        is_open=True, statuses={503: "it cannot, and why"},
    ),
    Endpoint("/state", "The newest turn, and its figures: rows, groups, bytes of state, watermark, lag.", _state),
    Endpoint("/metrics", "Metrics for Prometheus.", _metrics, media_type="text/plain"),
    Endpoint("/openapi.json", "This description.", _description),
)  # fmt: skip
PATHS = {endpoint.path: endpoint for endpoint in ENDPOINTS}


def no_such_path() -> RefusedError:
    """What to tell a request for anything else."""
    return RefusedError(404, f"there is nothing here; there is {', '.join(PATHS)}")
