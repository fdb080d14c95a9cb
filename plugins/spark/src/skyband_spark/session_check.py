"""Checks what Skyband needs of a Spark session, before a first job: a line for each requirement, with what to set."""

import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import distributions
from platform import python_version
from typing import TYPE_CHECKING, Any

import skyband
from attrs import frozen
from skyband.queries import kinds
from skyband.registry import backends
from skyband.text_tables import size

from skyband_spark.errors import sentence

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

OLDEST_SPARK = (4, 1)
LEAST_MEMORY = 1 << 30
"""Bytes of memory that a Python worker should have, to compile kernels and hold a state."""
_WORKERS = 32
"""The most tasks that look at their worker."""
_PATIENCE = 120.0
"""Seconds within which a stream of two rows has committed its first micro-batch."""
_SEE_LOG = "see the log of Spark for what went wrong; on a cluster, pass a `checkpoint` that all machines reach"


@frozen
class Finding:
    """One requirement: what it is, what was observed, and what to do if it is not met."""

    requirement: str
    observation: str
    remedy: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is nothing to do."""
        return self.remedy is None

    def __str__(self) -> str:
        line = f"{'yes' if self.ok else 'no ':<3}  {self.requirement}: {self.observation}"
        return line if self.ok else f"{line}\n     {self.remedy}"


@frozen
class Preflight:
    """The findings in the order of their checks; `print` shows a line for each."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether every requirement is met."""
        return all(finding.ok for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))


def preflight(session: "SparkSession", checkpoint: str | None = None) -> Preflight:
    """Check that a session can run Skyband: versions, settings, workers, and one stream of two rows.

    It reads no data of yours, and writes only the checkpoint of that stream. It takes a few seconds.

    Parameters
    ----------
    session : SparkSession
        a classic session, or one of Spark Connect
    checkpoint : str, default None
        a folder that all machines reach and that does not exist yet; None: a temporary folder, which only serves where
        Spark runs on one machine

    Returns
    -------
    Preflight
        `ok` is whether all is well, `findings` has each check; `print` shows them
    """
    findings = [_spark(session), _plugins(), _state_store(session), _arrow(session), *_workers(session)]
    if all(finding.ok for finding in findings):
        findings.append(_stream(session, checkpoint))
    else:
        findings.append(Finding("a stateful stream", "not tried", "fix the lines above, and check again"))
    return Preflight(tuple(findings))


def _spark(session: Any) -> Finding:
    kind = "classic" if hasattr(session, "_jsparkSession") else "Spark Connect"
    number = tuple(int(part) for part in session.version.split(".")[:2])
    oldest = ".".join(map(str, OLDEST_SPARK))
    old = number < OLDEST_SPARK
    return Finding("Spark", f"{session.version}, {kind}", f"use Spark {oldest} or later" if old else None)


def _plugins() -> Finding:
    """Some installers leave out the entry points by which plugins are found."""
    usable = kinds()
    installed = f"{skyband.__version__}, Python {python_version()}; {len(usable)} queries, {len(backends())} backends"
    lacking = "install a plugin, such as skyband-distinct, with pip, so that its entry points are there too"
    return Finding("Skyband on the driver", installed, None if usable else lacking)


def _state_store(session: Any) -> Finding:
    from skyband_spark.spark_session.session import ROCKSDB

    key = "spark.sql.streaming.stateStore.providerClass"
    provider = session.conf.get(key, "Spark's default")
    remedy = f"create the session with skyband.spark.session(), or set {key}={ROCKSDB}"
    return Finding("state store", provider.rpartition(".")[2], None if provider == ROCKSDB else remedy)


def _arrow(session: Any) -> Finding:
    key = "spark.sql.execution.arrow.maxRecordsPerBatch"
    rows = int(session.conf.get(key, "10000"))
    small = 0 < rows < 1000
    remedy = f"set {key}=100000: each batch costs Python some time, however few rows it has" if small else None
    return Finding("Arrow batches", "of any size" if rows <= 0 else f"of up to {rows:,} rows", remedy)


def _workers(session: Any) -> Iterator[Finding]:
    """What the Python workers have; they are looked at without Skyband, which they may lack."""
    try:
        tasks = min(_WORKERS, int(session.sparkContext.defaultParallelism))
    except Exception:  # Spark Connect has no context, and raises another error
        tasks = 2
    names = sorted(_distributions())
    try:
        rows = session.range(0, tasks, 1, tasks).mapInArrow(_look(names), "report string").collect()
    except Exception as error:  # whatever Spark raises where a worker does not start
        remedy = "make the workers' Python start, and install pyarrow there: see spark.pyspark.python"
        yield Finding("Python workers", sentence(str(error)), remedy)
        return
    workers = [json.loads(row.report) for row in rows]
    yield _same("Python on the workers", {worker["python"] for worker in workers}, python_version())
    by_name = {name: {worker["versions"][name] for worker in workers} for name in names}
    if by_name.get("skyband") == {None}:
        yield _same("Skyband on the workers", {None}, skyband.__version__)  # one line, rather than one a plugin
        by_name = {name: versions for name, versions in by_name.items() if versions != {None}}
    for name, versions in by_name.items():
        if versions != {_distributions()[name]}:
            yield _same(f"{name} on the workers", versions, _distributions()[name])
    unwritable = sorted({worker["cache"] for worker in workers} - {None})
    yield Finding(
        "kernels can be cached",
        "on all workers" if not unwritable else f"not in {', '.join(unwritable)}",
        "set spark.executorEnv.NUMBA_CACHE_DIR to a folder that only the workers' user can write to"
        if unwritable
        else None,
    )
    limits = [worker["memory"] for worker in workers if worker["memory"] is not None]
    small = limits and min(limits) < LEAST_MEMORY
    yield Finding(
        "memory of a worker",
        f"limited to {size(min(limits))}" if limits else "not limited",
        f"give the workers at least {size(LEAST_MEMORY)}: spark.executor.pyspark.memory, or the container's"
        if small
        else None,
    )


def _distributions() -> dict[str, str]:
    """The versions of what must be the same on driver and workers."""
    named = {one.name: one.version for one in distributions() if one.name}
    return {name: number for name, number in named.items() if name == "numba" or name.startswith("skyband")}


def _same(requirement: str, versions: set[str | None], here: str) -> Finding:
    text = ", ".join(sorted("missing" if value is None else value for value in versions))
    remedy = f"the driver has {here}: install the same on both, or ship one environment with spark.archives"
    return Finding(requirement, text, None if versions == {here} else remedy)


def _look(names: list[str]) -> Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]:
    """A function that travels by value, as a nested one does, and needs nothing of Skyband."""

    def look(batches: Any) -> Any:
        import json
        import os
        import platform
        import tempfile
        from contextlib import suppress
        from importlib.metadata import PackageNotFoundError, version
        from importlib.util import find_spec
        from pathlib import Path

        import pyarrow as pa

        def version_of(name: str) -> str | None:
            try:
                return version(name)
            except PackageNotFoundError:
                return None

        def unwritable() -> str | None:
            """The first of the folders for kernels, if none can be written to."""
            code = find_spec("skyband")
            places = [os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"]
            places += [] if code is None or code.origin is None else [str(Path(code.origin).parent)]
            for place in map(os.path.expanduser, places):
                with suppress(OSError):
                    Path(place).mkdir(parents=True, exist_ok=True)
                    tempfile.TemporaryFile(dir=place).close()
                    return None
            return places[0]

        def limit() -> int | None:
            limits = []
            with suppress(ImportError):  # Windows
                import resource

                limits.append(resource.getrlimit(resource.RLIMIT_AS)[0])
            for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
                with suppress(OSError, ValueError):  # another system, or "max"
                    limits.append(int(Path(file).read_text("utf-8")))
            real = [number for number in limits if 0 < number < 1 << 50]
            return min(real, default=None)

        for _ in batches:
            report: dict[str, Any] = {
                "python": platform.python_version(),
                "versions": {name: version_of(name) for name in names},
            }
            report |= {"cache": unwritable(), "memory": limit()}
            yield pa.RecordBatch.from_pydict({"report": [json.dumps(report)]})

    return look


def _stream(session: Any, checkpoint: str | None) -> Finding:
    """One micro-batch of two rows through the state store and the Python workers."""
    name, began = "a stateful stream of two rows", time.monotonic()
    with tempfile.TemporaryDirectory(prefix="skyband-session-", ignore_cleanup_errors=True) as folder:
        try:
            problem = _first_micro_batch(session, checkpoint or f"{folder}/checkpoint")
        except Exception as error:  # whatever Spark, a worker or a plugin raises: it is what was asked for
            problem = str(error)
    if problem is None:
        return Finding(name, f"committed after {time.monotonic() - began:.1f} s")
    return Finding(name, sentence(problem), _SEE_LOG)


def _first_micro_batch(session: Any, checkpoint: str) -> str | None:
    """Start a stream, wait for its first commit, and stop it. Returns what went wrong."""
    from skyband_spark import program as spark

    query: dict[str, Any] = {"time": "timestamp", "windows": ["1 minute"], "every": "1 minute"}
    if "distinct-count" in kinds():
        query |= {"kind": "distinct-count", "item": "value"}
    else:
        query |= {"kind": "heavy-hitters", "object": "value", "k": 1}
    rows = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
    with warnings.catch_warnings(action="ignore"):  # of more partitions than two rows need
        answers = spark.apply(rows, query, shards=1).writeStream.format("noop")
    running, latest = answers.option("checkpointLocation", checkpoint).start(), time.monotonic() + _PATIENCE
    try:
        while running.isActive and running.lastProgress is None and time.monotonic() < latest:
            time.sleep(0.1)
        failed = running.exception()
        if failed is not None:
            return str(failed)
        return None if running.lastProgress is not None else f"no micro-batch within {_PATIENCE:.0f} s"
    finally:
        running.stop()
