"""Exports the metrics of a run to Prometheus while it runs."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from skyband.errors import ConfigError, Problem

from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.metrics.place import KEY, Endpoint, place_of
from skyband_jobs.tables.model import Job

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_EVERY = 1.0
"""Seconds between two writes of a file."""


@contextmanager
def exported(job: Job, progress: Progress) -> Iterator[None]:
    """Export the run that `progress` follows to the place in its job's `metrics`, if set.

    Raises ConfigError where the port is taken or the file cannot be written. Later failures are warnings.
    """
    if job.metrics is None:
        yield
        return
    from prometheus_client import CollectorRegistry

    from skyband_jobs.metrics.exposition import Exposition

    place, registry, exposition = place_of(job.metrics, Path()), CollectorRegistry(), Exposition(job)
    registry.register(exposition)
    progress.listeners.append(exposition.tell)
    if isinstance(place, Endpoint):
        with _served(place, registry, progress):
            yield
    else:
        file = _File(place, registry, progress)
        progress.listeners.append(file)
        try:
            yield
        finally:
            exposition.end()
            file(Totals(), ended=True)


@contextmanager
def _served(place: Endpoint, registry: "CollectorRegistry", progress: Progress) -> Iterator[None]:
    from prometheus_client import make_wsgi_app

    from skyband_jobs.metrics.server import LoopbackServer

    try:
        server = LoopbackServer(place.host, place.port, make_wsgi_app(registry))
    except OSError as error:
        message = f"{place.host}:{place.port} cannot be listened on: {error.strerror or error}"
        remedy = "choose another port, one for each stream, or stop what uses it"
        raise ConfigError(Problem(KEY, f"{message}; {remedy}")) from error
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    progress.note(f"metrics at http://{place.host}:{server.server_port}/metrics")
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _File:
    """Writes a file after micro-batches, at most once a second, and at the end."""

    def __init__(self, path: Path, registry: "CollectorRegistry", progress: Progress) -> None:
        self._path, self._registry, self._progress = path, registry, progress
        self._last, self._has_failed = 0.0, False
        try:
            self._write()
        except OSError as error:
            message = f"{str(path)!r} cannot be written: {error.strerror or error}: name another file"
            raise ConfigError(Problem(KEY, message)) from error

    def __call__(self, totals: Totals, ended: bool) -> None:  # noqa: ARG002 - the exposition has them
        if self._has_failed or (not ended and time.monotonic() - self._last < _EVERY):
            return
        try:
            self._write()
        except OSError as error:  # lost metrics must not end a run
            self._has_failed = True
            message = f"warning: metrics: {str(self._path)!r} cannot be written: {error.strerror or error}"
            self._progress.note(f"{message}; the run continues without")

    def _write(self) -> None:
        """Write the complete file, or keep the old one: the library renames a new file."""
        from prometheus_client import write_to_textfile

        write_to_textfile(str(self._path), self._registry)
        self._last = time.monotonic()
