"""Compiles a job's kernels while Spark starts, so that Spark's workers find them on disk.

A kernel is compiled at its first call and cached for all later processes. Workers are new processes: they would
compile during the first micro-batches, several of them the same kernels. So another process puts the job's first rows
through its operator meanwhile. Nothing depends on it: if it fails, workers compile as they go. Once it succeeds, the
next job with such a query skips it: `compiled_kernels_marker` records that everything is on disk.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from skyband_jobs.job.progress import Progress
from skyband_jobs.tables.model import Job

from skyband_spark.warming import compiled_kernels_marker

_PATIENCE = 60.0
"""Seconds that a job waits for it once Spark has started."""


class Warming:
    """A process that compiles; `wait` for it before the first rows, and always `stop` it."""

    def __init__(self, path: str | Path, sets: Iterable[str]) -> None:
        self._call = [sys.executable, "-P", "-m", "skyband_spark.warming.rehearsal", str(path), *sets]
        """-P: a `numpy.py` in the working folder is not numpy."""
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    def start(self, job: Job) -> None:
        """Start, if workers run on this machine, the job's files are here, and its kernels may not be compiled."""
        here = "PYSPARK_GATEWAY_PORT" not in os.environ and job.spark.get("spark.master", "local").startswith("local")
        if here and job.source.of_files and job.source.select is None and not compiled_kernels_marker.is_current(job):
            self._started = time.monotonic()
            self._process = subprocess.Popen(self._call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @property
    def is_running(self) -> bool:
        """Whether it compiles now."""
        return self._process is not None and self._process.poll() is None

    def wait(self, progress: Progress) -> None:
        """Wait until it is done."""
        start = time.monotonic()
        while self.is_running and time.monotonic() < start + _PATIENCE:
            seconds = time.monotonic() - self._started
            progress.waiting(f"compiling kernels, once on this machine: {seconds:.0f} s")
            time.sleep(0.05)

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
