"""Keeps librdkafka's log lines for error messages, instead of repeating them on stderr."""

import logging


class LastWords:
    """The last line that a client logged, at the level WARNING or above.

    A missing broker is logged a thousand times a minute. The error of a failed call includes the last line. For all
    lines, add a handler to the logger `skyband.kafka`.
    """

    def __init__(self) -> None:
        self.words = ""

    def logger(self) -> logging.Logger:
        """A separate logger for a client; its lines go only here and to the handlers of `skyband.kafka`."""
        client, parent = logging.Logger("skyband.kafka.client"), logging.getLogger("skyband.kafka")
        client.parent, parent.propagate = parent, False
        client.addHandler(_Keep(self))
        return client

    def after(self, why: object) -> str:
        """A reason, with the last line logged."""
        return f"{why}; last log: {self.words}" if self.words else str(why)


class _Keep(logging.Handler):
    def __init__(self, last: LastWords) -> None:
        super().__init__(logging.WARNING)
        self._last = last

    def emit(self, record: logging.LogRecord) -> None:
        self._last.words = " ".join(record.getMessage().split())
