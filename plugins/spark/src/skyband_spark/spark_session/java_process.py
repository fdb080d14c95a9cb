"""The Java process of a session: stopped when it should not outlive us, and reported when it dies."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_PATIENCE = 2.0
"""Seconds within which a process that closed its connections has ended."""


@contextmanager
def ended_if_interrupted() -> Iterator[None]:
    """Kill the Java that is started in the block, if the block fails before Java has answered.

    PySpark then removes the folder in which Java would report its port, and Java would wait for ever.
    """
    from pyspark import SparkContext, java_gateway

    if SparkContext._gateway is not None:  # it is already running
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
    """How the Java started by this process has ended, in words; None where it runs, or another process started it."""
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
