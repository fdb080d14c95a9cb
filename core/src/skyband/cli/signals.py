"""Handling of Ctrl-C, SIGTERM and SIGHUP: a command cleans up and exits with the signal's status."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STATUS = 128
"""Added to a signal's number, as shells do: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP."""

_NAMES = ("SIGTERM", "SIGHUP")  # Windows lacks the second


class Ended(KeyboardInterrupt):
    """SIGTERM or SIGHUP, raised so that code which cleans up after Ctrl-C also cleans up after these."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


_last: list[int] = []
"""The signals received; whatever they interrupted may have turned them into another error."""


def came() -> int | None:
    """The latest signal that asked this process to end; None if there was none."""
    return _last[-1] if _last else None


def note(number: int) -> None:
    """Record a signal that another handler received."""
    _last.append(number)


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise, as Ctrl-C does. Signals that our parent process ignores stay ignored."""
    _last.clear()
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in numbers if signal.getsignal(number) is signal.SIG_DFL}
    before = signal.getsignal(signal.SIGINT)
    if before not in (signal.SIG_IGN, None):
        handlers[signal.SIGINT] = before
    try:
        for number in handlers:
            signal.signal(number, _raise)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _raise(number: int, _: FrameType | None) -> None:
    note(number)
    raise KeyboardInterrupt if number == signal.SIGINT else Ended(number)


def status(error: BaseException) -> int | None:
    """The exit status if a signal caused `error`; None otherwise.

    When the signal reached Java too, its client raises errors about its end or a broken connection.
    """
    if isinstance(error, Ended):
        return STATUS + error.number
    if isinstance(error, KeyboardInterrupt):
        return STATUS + (came() or signal.SIGINT)
    number = came()
    return None if number is None else STATUS + number


def word(status: int) -> str:
    """The status in words."""
    number = status - STATUS
    return "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"


def say(text: str) -> None:
    """Write a line to stderr, if it exists: it is gone when the terminal was closed."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
