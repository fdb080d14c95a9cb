"""Where Spark on this machine keeps what does not fit into memory: a folder that only this user can look into.

Spark makes `blockmgr-…`, with rows of the job, in the temporary folder, and lets everybody read it.
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
"""Of what is in the temporary folder: those folders, and the logs of runs that failed."""

_KEPT_FOR = 7 * 86_400
"""Seconds for which the log of a run that failed is kept."""


def is_ours_to_say(settings: Mapping[str, Any]) -> bool:
    """Whether nobody has said where, and no Spark runs here already."""
    from pyspark import SparkContext

    named = "spark.local.dir" in settings or "SPARK_LOCAL_DIRS" in os.environ
    return not named and not os.environ.get("SPARK_CONF_DIR") and SparkContext._active_spark_context is None


def private_folder() -> str:
    """A new folder of this process, gone with it."""
    folder = tempfile.mkdtemp(prefix=PREFIX)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def remove_old_leftovers() -> None:
    """Remove this user's logs of runs that failed more than a week ago, and folders of processes that were killed."""
    before = time.time() - _KEPT_FOR
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another process may remove it just now
            entry = path.lstat()
            if entry.st_mtime >= before or (hasattr(os, "getuid") and entry.st_uid != os.getuid()):
                continue
            if stat.S_ISDIR(entry.st_mode):
                path.rmdir()  # only an empty one: Spark removes what it puts there
            elif stat.S_ISREG(entry.st_mode):
                path.unlink()
