"""What librdkafka says of its connections: kept for an error, as it would say it again and again on stderr."""

import logging


class LastWords:
    """The last thing that a client said, at the level of warnings or above.

    A broker that is gone is told of a thousand times a minute. What went wrong at the end is in the error of whoever
    waits for it; a program that wants every line gives the logger `skyband.kafka` a handler.
    """

    def __init__(self) -> None:
        self.words = ""

    def logger(self) -> logging.Logger:
        """One of its own for a client, whose lines come here and to the handlers of `skyband.kafka`, no others."""
        client, parent = logging.Logger("skyband.kafka.client"), logging.getLogger("skyband.kafka")
        client.parent, parent.propagate = parent, False
        client.addHandler(_Keep(self))
        return client

    def after(self, why: object) -> str:
        """A reason, and what was said last."""
        return f"{why}; last heard: {self.words}" if self.words else str(why)


class _Keep(logging.Handler):
    def __init__(self, last: LastWords) -> None:
        super().__init__(logging.WARNING)
        self._last = last

    def emit(self, record: logging.LogRecord) -> None:
        self._last.words = " ".join(record.getMessage().split())
