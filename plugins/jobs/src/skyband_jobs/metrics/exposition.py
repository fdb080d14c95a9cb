"""A run's totals as metrics with Prometheus' names and units."""

import time
from collections.abc import Iterator
from typing import Any

from attrs import define, field
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from skyband_jobs.job.progress import Totals
from skyband_jobs.tables.model import Job

_COUNTERS = {
    "rows": "rows read since the process started",
    "late_rows": "rows older than the watermark",
    "answers": "rows of answers",
    "micro_batches": "micro-batches that have ended",
}
_GAUGES = {
    "watermark_seconds": "how far the answers have got, in seconds since 1970",
    "state_bytes": "bytes of state, all shards",
    "retained": "items that the backends hold",
    "groups": "groups that are alive",
    "micro_batch_seconds": "how long the last micro-batch took, without the wait for it if the engine reports that",
    "running": "1 while the run continues, 0 in its last values",
}


@define(eq=False)
class Exposition(Collector):
    """The latest metrics of one run."""

    job: Job
    _labels: tuple[str, str] = field(init=False)
    _figures: dict[str, float | None] = field(factory=dict, init=False)
    _dropped: dict[str, int] = field(factory=dict, init=False)
    _at: float = field(factory=time.monotonic, init=False)

    @_labels.default
    def _labels_of_job(self) -> tuple[str, str]:
        return self.job.name, self.job.query.kind

    def tell(self, totals: Totals, ended: bool) -> None:
        """Take a run's totals. O(1): nothing is written here."""
        now = time.monotonic()
        seconds = now - self._at if totals.batch_seconds is None else totals.batch_seconds
        mark = None if totals.watermark is None or totals.in_rows else totals.watermark / 1e6
        self._at = now
        figures = {
            "rows": totals.rows_in, "late_rows": totals.rows_late, "answers": totals.answers,
            "micro_batches": totals.micro_batches, "watermark_seconds": mark, "state_bytes": totals.state_bytes,
            "retained": totals.retained, "groups": totals.groups,
            "micro_batch_seconds": self._figures.get("micro_batch_seconds") if ended else seconds,
            "running": 0 if ended else 1,
        }  # fmt: skip
        self._figures, self._dropped = figures, dict(totals.dropped)  # replaced whole: another thread reads them

    def end(self) -> None:
        """Mark the run as ended, however it ended."""
        self._figures = {**(self._figures or dict.fromkeys(_COUNTERS, 0)), "running": 0}

    def collect(self) -> Iterator[Any]:
        """Called by the library for each request or file."""
        figures = self._figures or {**dict.fromkeys(_COUNTERS, 0), "running": 1}
        labels = ["job", "kind"]
        kinds = ((_COUNTERS, CounterMetricFamily), (_GAUGES, GaugeMetricFamily))
        for help_texts, family in kinds:
            for name, text in help_texts.items():
                value = figures.get(name)
                if value is not None:
                    metric = family(f"skyband_{name}", text, labels=labels)
                    metric.add_metric(self._labels, value)
                    yield metric
        text = "rows left out, or answered with nulls, by reason"
        dropped = CounterMetricFamily("skyband_dropped_rows", text, labels=[*labels, "reason"])
        for reason, count in self._dropped.items():
            dropped.add_metric((*self._labels, reason), count)
        yield dropped
