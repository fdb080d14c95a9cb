"""The Spark session a job runs in: its settings, its log, and its errors in one sentence."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skyband import spark
from skyband.engines.java import require_java
from skyband.errors import ConfigError, EngineError, SkybandError
from skyband.job.model import Job
from skyband.job.progress import Progress
from skyband.job.warming import Warming

_OURS = re.compile(r"skyband\.errors\.\w+: (.+?)(?=\n\s*\n|\n\s*(?:at |\tat |During handling|Traceback)|\Z)", re.DOTALL)
_DEFAULTS = {"spark.ui.showConsoleProgress": "false"}


def require_spark() -> Any:
    """PySpark's SparkSession. Raises EngineError where PySpark or Java is missing, saying how to get it."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise EngineError(
            "PySpark is not installed: pip install 'skyband[spark]', or answer without Spark: --engine local"
        ) from error
    require_java()
    return SparkSession


@contextmanager
def spark_session(job: Job, progress: Progress, warming: Warming | None = None) -> Iterator[Any]:
    """The active session, or one of our own whose log goes to a file that is kept where the run fails.

    warming: what is to go on while our own starts.
    """
    active = require_spark().getActiveSession()
    if active is not None:
        yield active
        return
    progress.waiting("starting Spark")
    shards = spark.shard_count(job.query, job.shards)
    settings = {**_DEFAULTS, "spark.sql.shuffle.partitions": str(shards), **job.spark}
    log = tempfile.NamedTemporaryFile(prefix="skyband-spark-", suffix=".log", delete=False)  # noqa: SIM115 - outlives this
    try:
        if warming is not None:
            warming.start(job)
        with _output_to(log):
            session = spark.session(job.name, **settings)
        if warming is not None:
            warming.wait(progress)
        progress.ready()
        try:
            yield session
        finally:
            session.stop()
    except (ConfigError, KeyboardInterrupt):
        Path(log.name).unlink()
        raise
    except BaseException:
        progress.note(f"Spark's log: {log.name}")
        raise
    finally:
        if warming is not None:
            warming.stop()
    Path(log.name).unlink()


@contextmanager
def _output_to(log: Any) -> Iterator[None]:
    """What is started meanwhile (Java, and the workers it starts) writes to `log` for as long as it runs."""
    sys.stderr.flush()
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        for number, held in enumerate(kept, 1):
            os.dup2(held, number)
            os.close(held)
        log.close()


@contextmanager
def plain_errors() -> Iterator[None]:
    """Spark's exceptions in one sentence: our own where a worker raised it, else the first line of Spark's."""
    from pyspark.errors import PySparkException

    try:
        yield
    except SkybandError:
        raise
    except PySparkException as error:
        raise EngineError(_sentence(str(error))) from error
    except Exception as error:
        if type(error).__module__.startswith("py4j"):
            raise EngineError(_sentence(str(error))) from error
        raise


def _sentence(text: str) -> str:
    ours = _OURS.findall(text)
    if ours:
        return " ".join(ours[-1].split())
    if "sources in the checkpoint" in text:
        return (
            "the checkpoint was made by a job with another number of sources; source.finish and source.idle_after add "
            "one: change it back, or give the changed job a new checkpoint"
        )
    return f"Spark: {text.strip().splitlines()[0] if text.strip() else 'failed without saying why'}"
