"""The metrics of a service: those that every run has, and those of its turns and its port."""

import time
from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.metrics.exposition import Exposition

from skyband_serve.published import Board, Published
from skyband_serve.web.worker import Check, Work

_TURNS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_ASKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5)
_LABELS = ("job", "kind")


class Figures(Collector):
    """A registry of the metrics of a service."""

    def __init__(self, job: CheckedJob, board: Board) -> None:
        self._board, self._values = board, (job.name, job.query.kind)
        self._registry, self.run = CollectorRegistry(), Exposition(job)
        turns = Histogram("skyband_serve_turn_seconds", "how long turns take", _LABELS, registry=None, buckets=_TURNS)
        asks = Histogram(
            "skyband_serve_ask_seconds", "how long answers to /ask take", _LABELS, registry=None, buckets=_ASKS
        )
        for collector in (self.run, turns, asks, self):
            self._registry.register(collector)
        self._turns, self._asks = turns.labels(*self._values), asks.labels(*self._values)

    def take(self, now: Published) -> None:
        """Count a turn: a listener of the board."""
        seconds = now.about.get("seconds")
        if seconds is not None:
            self._turns.observe(seconds)

    def timed(self, work: Work) -> Work:
        """The same work, whose seconds are counted."""

        def counted(check: Check) -> bytes:
            started = time.monotonic()
            try:
                return work(check)
            finally:
                self._asks.observe(time.monotonic() - started)

        return counted

    def text(self, accept: str) -> tuple[bytes, str]:
        """All metrics in the form that a client accepts, and the type of that."""
        encode, media_type = choose_encoder(accept)
        return encode(self._registry), media_type

    def collect(self) -> Iterator[Any]:
        """Called by the library for each request."""
        now, board = self._board.now, self._board
        age = now.about.get("savepoint_age")
        figures = {
            "turn": ("the newest turn", now.turn),
            "well": ("1 while the service can do its work, else 0", board.ailment is None),
            "savepoint_age_seconds": (
                "since the state was saved",
                None if age is None else age + board.clock() - now.since,
            ),
        }
        for name, (text, value) in figures.items():
            if value is not None:
                metric = GaugeMetricFamily(f"skyband_serve_{name}", text, labels=_LABELS)
                metric.add_metric(self._values, float(value))
                yield metric
        lag = GaugeMetricFamily("skyband_serve_lag_rows", "rows that wait", labels=[*_LABELS, "partition"])
        for partition, rows in (now.about.get("lag") or {}).items():
            lag.add_metric((*self._values, str(partition)), rows)
        yield lag
