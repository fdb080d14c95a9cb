"""Reports a run's progress as `logging` records with metrics, for programs rather than people."""

import io
import logging
from collections.abc import Mapping
from typing import Any

from skyband.cli.json_lines import FIELDS

from skyband_jobs.job.progress import Progress, Totals

_WARNING = "warning: "


class LoggedProgress(Progress):
    """Logs a run to `skyband.run`: at least one record a micro-batch, and one at the end."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self._log = logging.getLogger("skyband.run")
        self._logged = 0

    def note(self, text: str) -> None:
        """Log a record, with level WARNING for warnings."""
        level = logging.WARNING if text.startswith(_WARNING) else logging.INFO
        self._record(level, text.removeprefix(_WARNING), {})

    def show(self, totals: Totals, always: bool = False) -> None:  # noqa: ARG002 - there is no line to redraw
        """Do nothing: metrics are logged with micro-batches."""
        totals.seconds = self.seconds()

    def micro_batch(self, totals: Totals, always: bool = False) -> None:
        """Log a record for each micro-batch of a stream; a batch has one at its end."""
        super().micro_batch(totals, always)
        if totals.micro_batches is not None and totals.micro_batches > self._logged:
            self._logged = totals.micro_batches
            self._record(logging.INFO, "micro-batch", figures(totals))

    def summary(self, totals: Totals, where: str) -> None:
        """Log all metrics of the run, and a warning for each likely mistake."""
        totals.seconds = self.seconds()
        self._record(logging.INFO, "stopped" if totals.stopped else "done", {**figures(totals), "where": where})
        for warning in self.warnings(totals):
            self.note(warning)
        self._tell(totals, ended=True)

    def waiting(self, text: str) -> None:
        """Do nothing: there are no metrics yet."""

    def _record(self, level: int, message: str, fields: Mapping[str, Any]) -> None:
        self._log.log(level, message, extra={FIELDS: {**self.about, **fields}})


def figures(totals: Totals) -> dict[str, Any]:
    """What a run has done so far, by the names of the metrics."""
    return {
        "rows_in": totals.rows_in,
        "rows_late": totals.rows_late,
        **{f"rows_{reason.replace(' ', '_')}": count for reason, count in totals.dropped.items()},
        "answers": totals.answers,
        "retained": totals.retained,
        "groups": totals.groups,
        **{
            name: value
            for name, value in (
                ("state_bytes", totals.state_bytes),
                ("watermark", totals.watermark),
                ("micro_batches", totals.micro_batches),
                ("batch_seconds", totals.batch_seconds),
            )
            if value is not None
        },
        "seconds": round(totals.seconds, 3),
    }
