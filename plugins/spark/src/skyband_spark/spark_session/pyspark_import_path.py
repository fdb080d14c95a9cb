"""Makes Spark's Python processes import PySpark from its files next to this interpreter rather than from a zip.

Spark puts `SPARK_HOME/python/lib/pyspark.zip` first on their path. A zip keeps no compiled modules, so each process
compiles PySpark's sources again: 0.4 s of a core, and a stream starts two before its first answer.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

_LINKED = ("bin", "conf", "jars", "sbin")
"""What Spark's home needs if Spark runs in one process."""


@contextmanager
def home_without_zip() -> Iterator[None]:
    """Start Spark in the block from a folder of links to PySpark's files, without the zip.

    Nothing changes where SPARK_HOME is set, PySpark has no zip, workers have another Python or would not find PySpark,
    or the folder, `~/.cache/skyband/spark-…`, cannot be created.
    """
    home = None if "SPARK_HOME" in os.environ else _home()
    if home is None:
        yield
        return
    os.environ["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


def _home() -> Path | None:
    import pyspark

    package = Path(str(pyspark.__file__)).parent
    zipped = (package / "python" / "lib" / "pyspark.zip").exists()
    if not zipped or os.environ.get("PYSPARK_PYTHON") != sys.executable or not _found_without_us(pyspark):
        return None
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        home = cache / "skyband" / f"spark-{hashlib.sha256(os.fsencode(package)).hexdigest()[:16]}"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in _LINKED:
            if (package / name).is_dir():
                with suppress(FileExistsError):  # another process may be creating them
                    (home / name).symlink_to(package / name, target_is_directory=True)
    except (OSError, RuntimeError):  # there is no home, or it is not writable
        return None
    return home if all((home / name).resolve() == (package / name).resolve() for name in ("bin", "jars")) else None


def _found_without_us(package: ModuleType) -> bool:
    """Whether a new process of this Python imports the same package: this one may have additional folders.

    -P: a `contextlib.py` in the working folder is not Python's.
    """
    code = f"import importlib.util; print(importlib.util.find_spec({package.__name__!r}).origin)"
    result = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    return result.stdout.strip() == package.__file__
