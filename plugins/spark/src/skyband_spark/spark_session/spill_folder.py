"""A private folder for what Spark on this machine spills from memory.

Spark creates `blockmgr-…`, with rows of the job, in the temporary folder, readable for everyone.
"""

import atexit
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

PREFIX = "skyband-spark-"
"""The prefix of these folders, and of the logs of failed runs, in the temporary folder."""

_KEPT_FOR = 7 * 86_400
"""Seconds for which the log of a failed run is kept."""


def is_ours_to_say(settings: Mapping[str, Any]) -> bool:
    """Whether no setting names a folder, and no Spark is running here."""
    from pyspark import SparkContext

    named = "spark.local.dir" in settings or "SPARK_LOCAL_DIRS" in os.environ
    return not named and not os.environ.get("SPARK_CONF_DIR") and SparkContext._active_spark_context is None


def private_folder() -> str:
    """Create a folder that is removed with this process."""
    folder = tempfile.mkdtemp(prefix=PREFIX)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def remove_old_leftovers() -> None:
    """Remove this user's logs of runs that failed over a week ago, and empty folders of processes that were killed."""
    before = time.time() - _KEPT_FOR
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another process may be removing it
            entry = path.lstat()
            if entry.st_mtime >= before or (hasattr(os, "getuid") and entry.st_uid != os.getuid()):
                continue
            if stat.S_ISDIR(entry.st_mode):
                path.rmdir()  # only if empty: Spark removes its own files
            elif stat.S_ISREG(entry.st_mode):
                path.unlink()
