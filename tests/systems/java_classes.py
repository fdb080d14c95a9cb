"""An archive of the classes that Spark loads: each Java of the tests maps it, and does not parse the same jars again.

    python tests/systems/java_classes.py

makes it, in the environment whose PySpark it is of (190 MB). tox.ini names it to every Java, which looks itself whether
it fits its jars, and does without it where it does not, or where there is none.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

PLACE = Path(sys.prefix) / "spark-classes.jsa"
LOG = PLACE.with_suffix(".log")
SETTINGS = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
QUERY = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 minute"], "every": "10 seconds"}


def begin() -> subprocess.Popen[bytes]:
    """Make it in a process of its own, which writes to LOG."""
    options = os.environ.get("JDK_JAVA_OPTIONS", "").split()
    other = " ".join(option for option in options if "SharedArchiveFile" not in option)  # Java would not write both
    with LOG.open("wb") as log:
        return subprocess.Popen(
            [sys.executable, __file__],
            start_new_session=True,
            stdout=log,
            stderr=log,
            env={**os.environ, "JDK_JAVA_OPTIONS": other},
        )


def end(process: subprocess.Popen[bytes]) -> str | None:
    """What went wrong, if anything. One that is not done is ended: Java cannot have an archive in part."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None
    return None if process.returncode == 0 else f"Spark's classes were not put into an archive: see {LOG}"


def make() -> None:
    """Run what most tests run, a query as a batch and as a stream, and keep what Java has loaded then."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from skyband import spark

    with tempfile.TemporaryDirectory(dir=PLACE.parent) as home:
        unfinished = Path(home) / "classes.jsa"
        option = f"-XX:ArchiveClassesAtExit={unfinished} -Xlog:cds=off -Xlog:cds+dynamic=off"
        session = spark.session("classes", **SETTINGS, **{"spark.driver.extraJavaOptions": option})
        java = session.sparkContext._gateway.proc
        times = pa.array(range(0, 90_000_000, 1_000_000), pa.timestamp("us", "UTC"))
        rows = pa.table({"ts": times, "who": [str(number % 7) for number in range(90)]})
        pq.write_table(rows, f"{home}/rows.parquet")
        source = session.read.parquet(f"{home}/rows.parquet")
        spark.apply(source, QUERY).toArrow()
        stream = session.readStream.schema(source.schema).parquet(f"{home}/*.parquet")
        answers = spark.apply(stream, QUERY, shards=1).writeStream.format("parquet").trigger(availableNow=True)
        answers.option("checkpointLocation", f"{home}/checkpoint").start(f"{home}/answers").awaitTermination()
        session.read.parquet(f"{home}/answers").collect()
        session.stop()
        java.stdin.close()
        java.wait()
        unfinished.replace(PLACE)


if __name__ == "__main__":
    make()
