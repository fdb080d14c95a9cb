"""What Ctrl-C, SIGTERM and SIGHUP do to a command: it lets go of what it started, and ends with their status."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STATUS = 128
"""Added to a signal's number, as shells do: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP."""

_NAMES = ("SIGTERM", "SIGHUP")  # the system of some machines lacks the second


class Ended(KeyboardInterrupt):
    """SIGTERM or SIGHUP: whatever cleans up after Ctrl-C does so after these."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


_last: list[int] = []
"""The signals that came, as what they interrupted may have made another error of it."""


def came() -> int | None:
    """The latest signal that asked this process to end."""
    return _last[-1] if _last else None


def note(number: int) -> None:
    """A handler of its own was asked to end."""
    _last.append(number)


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise, and Ctrl-C as well; a signal that whoever started us ignores stays ignored."""
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
    """The exit status where a signal ended what raised `error`; None where none did.

    Java and Spark's client tell of their own end, or of a connection that broke, when the signal was for them too.
    """
    if isinstance(error, Ended):
        return STATUS + error.number
    if isinstance(error, KeyboardInterrupt):
        return STATUS + (came() or signal.SIGINT)
    number = came()
    return None if number is None else STATUS + number


def word(status: int) -> str:
    """What to say of it."""
    number = status - STATUS
    return "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"


def say(text: str) -> None:
    """Say it on stderr, if there is one: a terminal that was closed takes it away."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
