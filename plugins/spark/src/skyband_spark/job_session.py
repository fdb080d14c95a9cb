"""The Spark session of a job, with its settings and log, and the job's plan in it."""

import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from skyband.errors import ConfigError, EngineError
from skyband_jobs.files.file_listing import data_files
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.progress import Progress
from skyband_jobs.tables.model import AVAILABLE_NOW, Job, local_path

from skyband_spark import program as spark
from skyband_spark.errors import is_gone
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.spark_session import session as sessions
from skyband_spark.spark_session.java_check import require_classic, require_java
from skyband_spark.spark_session.spill_folder import PREFIX, remove_old_leftovers
from skyband_spark.warming.precompile import Warming

_DEFAULTS = {"spark.ui.showConsoleProgress": "false"}
LOCAL = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
"""If Spark runs in one process on this machine, it should not be reachable from outside: it would listen on the
machine's address, and show a page without a password. A job's `[spark]` takes precedence."""

COMPILED_ONCE = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
"""For a job that ends with its files, if they are small. Java compiles code that runs often a second time, better:
this takes a third of the CPU of a short run, but pays off for many rows: 500,000 take 30 to 45 % longer without it.
"""
SMALL = 32 << 20
"""Bytes of all files together: the demo has 8 MB for 500,000 rows."""


def require_spark() -> Any:
    """PySpark's SparkSession. Raises EngineError if PySpark or Java is missing, with how to get it."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise EngineError(
            "PySpark is not installed: pip install skyband-spark, or answer without Spark: --engine local"
        ) from error
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        require_classic()
    require_java()
    return SparkSession


def spark_defaults(job: Job) -> dict[str, str | None]:
    """The settings of our own session, which the job's settings override; None: Spark's default."""
    alone = _is_alone(job.spark)
    defaults: dict[str, str | None] = {**_DEFAULTS, **LOCAL} if alone else {**_DEFAULTS}
    here = alone and _keeps_files_here(job)
    defaults |= {key: value if here else None for key, value in sessions.FEWER_FORKS.items()}
    if alone and _is_short(job):
        defaults |= COMPILED_ONCE
    return defaults


def _is_alone(settings: Mapping[str, Any]) -> bool:
    """Whether we start Spark, in one process on this machine."""
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has started Spark
    return settings.get("spark.master", "" if _is_configured() else "local").startswith("local") and not submitted


def _keeps_files_here(job: Job) -> bool:
    return all(path is None or local_path(path) is not None for path in (job.sink.checkpoint, job.sink.path))


def _is_short(job: Job) -> bool:
    """Whether the job ends after its files, which are small and on this machine."""
    source, ends = job.source, not job.source.stream or job.sink.trigger == AVAILABLE_NOW
    path = local_path(source.path) if ends and source.of_files and source.path is not None else None
    try:
        return path is not None and sum(file.stat().st_size for file in data_files(path)) <= SMALL
    except OSError:  # files come and go, or are not accessible: their reader reports it
        return False


def _is_configured() -> bool:
    """Whether Spark's own settings file exists, which may name a cluster."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (None if home is None else str(Path(home, "conf")))
    return folder is not None and Path(folder, "spark-defaults.conf").exists()


def spark_session(job: Job | None, progress: Progress, warming: Warming | None = None) -> AbstractContextManager[Any]:
    """The active session, or our own, whose log goes to a file that is kept for a week if the run fails.

    job: whose settings it gets, if any. warming: work to do while our own starts.
    """
    active = require_spark().getActiveSession()
    if active is not None:
        return nullcontext(active)
    if job is None:
        return _own_session("skyband", {**_DEFAULTS, **(LOCAL if _is_alone({}) else {})}, progress)
    shards = spark.shard_count(job.query, job.shards)
    settings = {**spark_defaults(job), "spark.sql.shuffle.partitions": str(shards), **job.spark}
    start = None if warming is None else partial(warming.start, job)
    return _own_session(job.name, settings, progress, warming, start)


@contextmanager
def _own_session(
    name: str,
    settings: Mapping[str, Any],
    progress: Progress,
    warming: Warming | None = None,
    start: Callable[[], None] | None = None,
) -> Iterator[Any]:
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # workers inherit it: a `numpy.py` in the working folder is not numpy
    remove_old_leftovers()
    log = tempfile.NamedTemporaryFile(prefix=PREFIX, suffix=".log", delete=False)  # noqa: SIM115 - outlives this
    try:
        if start is not None:
            start()
        compiles = warming is not None and warming.is_running
        progress.waiting("starting Spark" + (", and compiling kernels, once on this machine" if compiles else ""))
        with _output_to(log):
            session = sessions.session(name, **settings)
        if warming is not None:
            warming.wait(progress)
        progress.ready()
        _say_nothing_of_its_end(session)
        try:
            yield session
        finally:
            with _not_interrupted():
                _stop(session)
    except (ConfigError, KeyboardInterrupt):
        Path(log.name).unlink(missing_ok=True)
        raise
    except BaseException:
        progress.note(f"Spark's log: {log.name}")
        raise
    finally:
        if warming is not None:
            warming.stop()
    Path(log.name).unlink(missing_ok=True)


def _stop(session: Any) -> None:
    """End a session; if it has ended already, whatever failed because of that reports it."""
    try:
        session.stop()
    except Exception as error:
        if not is_gone(error):
            raise


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


def _say_nothing_of_its_end(session: Any) -> None:
    """Spark's server for accumulators and its client write tracebacks if Java ends before they do, which the run's
    own error reports."""
    logging.getLogger().addFilter(_is_not_of_py4j)
    server = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None


@contextmanager
def _not_interrupted() -> Iterator[None]:
    """Ignore Ctrl-C while a session ends, which takes a second: Spark's own handler would cancel jobs then.

    Only the main thread can do that; SIGTERM ends the process as usual.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _output_to(log: Any) -> Iterator[None]:
    """Processes started meanwhile (Java, and its workers) write to `log` as long as they run."""
    sys.stderr.flush()
    sys.stdout.flush()
    originals = os.dup(1), os.dup(2)
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        for number, original in enumerate(originals, 1):
            os.dup2(original, number)
            os.close(original)
        log.close()


def plan_for(job: CheckedJob, source: Any, shards: int | None) -> ShardedPlan:
    """The plan for the DataFrame of a job's source, on this many shards."""
    return spark.plan_of(source, job.query, job.backends, shards, bindings=job.bindings)
