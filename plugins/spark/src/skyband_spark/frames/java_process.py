"""The Java that a session of this process starts: ended where it was not to be, and told of when it ends itself."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_PATIENCE = 2.0
"""Seconds in which a process that broke its connections has ended."""


@contextmanager
def ended_if_interrupted() -> Iterator[None]:
    """End the Java that is started meanwhile where the block does not come to its end before Java has answered.

    PySpark removes the folder in which Java is to say where it listens, and Java waits for ever then.
    """
    from pyspark import SparkContext, java_gateway

    if SparkContext._gateway is not None:  # there is one already
        yield
        return
    started: list[Any] = []
    popen = java_gateway.Popen

    def remembering(*arguments: Any, **named: Any) -> Any:
        process = popen(*arguments, **named)
        started.append(process)
        return process

    java_gateway.Popen = remembering
    try:
        yield
    except BaseException:
        for process in started if SparkContext._gateway is None else ():
            process.kill()
            process.wait()
        raise
    finally:
        java_gateway.Popen = popen


def how_java_ended() -> str | None:
    """How the Java that this process started has ended, in words; None where it runs, or another started it."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE)
    status = process.poll()
    if status is None:
        return None
    if status < 0:
        status = 128 - status
    if status <= 128:
        return f"with exit status {status}"
    try:
        name = signal.Signals(status - 128).name
    except ValueError:
        return f"with exit status {status}"
    return f"by {name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
