"""The signals of a service: what asks it to stop, and to read its job again."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define, field


@define
class Signals:
    """What was asked for. It is looked at between turns: an exception within one would break the state."""

    stop: bool = False
    reload: bool = False
    _wake: threading.Event = field(factory=threading.Event, init=False)

    @property
    def interrupt(self) -> bool:
        """Whether turns should pause for either."""
        return self.stop or self.reload

    def wait(self, seconds: float) -> bool:
        """Wait, or until a signal arrives; whether one did. One since the last wait ends this one, but no later one."""
        arrived = self._wake.wait(seconds)
        self._wake.clear()
        return arrived

    def ask(self, number: int, _: Any = None) -> None:
        """Take a signal. A second one to stop interrupts at once, which is as safe as a kill."""
        if number == _RELOAD:
            self.reload = True
        elif self.stop:
            raise KeyboardInterrupt
        else:
            self.stop = True
        self._wake.set()

    def take_reload(self) -> bool:
        """Whether the job is to be read again, which is then no longer asked for."""
        is_due, self.reload = self.reload and not self.stop, False
        return is_due


_RELOAD = getattr(signal, "SIGHUP", None)
"""None where the system has no such signal."""


@contextmanager
def listening() -> Iterator[Signals]:
    """Take Ctrl-C, SIGTERM and SIGHUP as wishes, in the main thread; other threads hear no signals."""
    signals = Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM, _RELOAD) if number is not None]
    before = {number: signal.signal(number, signals.ask) for number in numbers}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
