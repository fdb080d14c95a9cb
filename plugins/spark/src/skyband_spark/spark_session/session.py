"""A Spark session with the settings that Skyband needs."""

import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from skyband_spark.spark_session.java_check import require_classic, require_java
from skyband_spark.spark_session.java_process import ended_if_interrupted
from skyband_spark.spark_session.pyspark_import_path import home_without_zip
from skyband_spark.spark_session.spill_folder import is_ours_to_say, private_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
GROUPED_SHARDS = 8
"""Default shards of a query with `by`: a fixed number, because a stream's checkpoint is bound to it."""

SETTINGS: dict[str, str] = {
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.shuffle.partitions": str(GROUPED_SHARDS),
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "64",
}
"""Settings that a session needs for streaming (the first), or that make it faster or simpler (the others).

Each shuffle partition commits its state in every micro-batch, so Spark's 200 would cost seconds. Timestamps in Spark's
own INT96 are read elsewhere as nanoseconds without a zone. If a micro-batch has more than 32 files, Spark looks at each
again, in up to 10,000 tasks: for 10^5 files that took minutes.
"""

FEWER_FORKS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}
"""For checkpoints and answers on this machine: Spark's default starts eight `readlink` processes, one after the
other, for each small file that it renames: a quarter of a small trigger. Both end in one rename."""


def session(name: str = "skyband", **settings: Any) -> "SparkSession":
    """A Spark session with the settings that Skyband needs.

    An existing session is returned: it gets the `SETTINGS` that it lacks, and keeps its own. If Spark runs in one
    process and paths without a scheme are files of this machine, a stream's small files are renamed without starting
    processes: `spark.sql.streaming.checkpointFileManagerClass`, unless you or Spark's settings files set it.

    Parameters
    ----------
    name : str, default "skyband"
        the application's name, as Spark shows it
    **settings
        further settings by name, with dots as double underscores, or as `**{"spark.master": "local[2]"}`; None keeps
        Spark's default

    Raises
    ------
    EngineError
        Java is missing or too old; the message says how to get it
    """
    settings = {key.replace("__", "."): value for key, value in settings.items()}
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has set the workers' Python
    if not submitted:
        require_classic(settings.get("spark.remote"))
    require_java()
    master = str(settings.get("spark.master", "local"))
    if not submitted and master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run the driver's Python, not PATH's python3
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    there = SparkSession.getActiveSession()
    conf = there.conf.getAll if there is not None else {}
    missing = {key: value for key, value in SETTINGS.items() if key not in conf}
    for key, value in {**missing, **settings}.items():
        if value is not None:
            builder = builder.config(key, value)
    one_process = master.partition("[")[0] == "local" and "spark.pyspark.python" not in settings
    with home_without_zip() if one_process and not submitted else nullcontext(), ended_if_interrupted():
        if one_process and not submitted and is_ours_to_say(settings):
            builder = builder.config("spark.local.dir", private_folder())
        started = builder.getOrCreate()
    for key, value in FEWER_FORKS.items():
        if key not in settings and started.conf.get(key, None) is None and _keeps_files_here(started):
            started.conf.set(key, value)
    return started


def _keeps_files_here(session: "SparkSession") -> bool:
    """Whether Spark runs in one process, and paths without a scheme are files of this machine."""
    context = session.sparkContext
    folder = context._jsc.hadoopConfiguration().get("fs.defaultFS")
    return context.master.partition("[")[0] == "local" and (folder is None or folder.startswith("file:"))
