"""Logs as JSON, one object per line on stderr: the messages of `skyband run --log json` and of libraries."""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

from skyband.config.redaction import redact

FIELDS = "skyband_fields"
"""The attribute of a log record that holds its values by name."""

_STANDARD = ("time", "level", "logger", "message")


class JsonLines(logging.Formatter):
    """A record as one line: time (UTC), level, logger, message, then the fields of the run."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with a job's secrets hidden."""
        text = record.getMessage().removeprefix("warning: ").rstrip("\n")
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = dict(zip(_STANDARD, (time, record.levelname, record.name, redact(text)), strict=True))
        fields: Mapping[str, Any] = getattr(record, FIELDS, {})
        line |= {name: redact(value) if isinstance(value, str) else value for name, value in fields.items()}
        if record.exc_info:
            line["traceback"] = redact(self.formatException(record.exc_info))
        return json.dumps(line)


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to the current stderr. A run does not fail because stderr cannot be written."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        if self.stream is not None:
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name in logging
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


@contextmanager
def logging_as_json() -> Iterator[None]:
    """Write everything logged, and Python's warnings, as JSON to stderr within this block."""
    handler, ours, root = _Stderr(), logging.getLogger("skyband"), logging.getLogger()
    handler.setFormatter(JsonLines())
    level = ours.level
    ours.setLevel(logging.INFO)
    root.addHandler(handler)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)
        ours.setLevel(level)


def say_error(message: str) -> None:
    """Write the error that ended a command as a line of JSON."""
    record = logging.LogRecord("skyband.cli", logging.ERROR, "", 0, message, None, None)
    handler = _Stderr()
    handler.setFormatter(JsonLines())
    handler.emit(record)
