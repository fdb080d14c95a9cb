"""Checks for Java, which Spark needs and pip cannot install, so that its absence has a plain message."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from skyband.errors import EngineError

OLDEST = 17
HOW_TO_GET_IT = (
    "install one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17), "
    "point JAVA_HOME at it, or answer without Spark: --engine local"
)


def require_java() -> int:
    """The major version of the Java that Spark will start. Raises EngineError where it is missing or too old."""
    java = _java()
    if java is None:
        raise EngineError(f"Spark needs Java {OLDEST} or newer, but none was found: {HOW_TO_GET_IT}")
    version = _version(java)
    if version < OLDEST:
        raise EngineError(f"Spark needs Java {OLDEST} or newer, but {java} is version {version}: {HOW_TO_GET_IT}")
    return version


def require_classic(remote: str | None = None) -> None:
    """Raise EngineError where Spark would run through Spark Connect, or from a folder without Spark."""
    remote = remote or os.environ.get("SPARK_REMOTE")
    if remote:
        message = f"Spark Connect (SPARK_REMOTE or spark.remote = {remote!r}) cannot keep an operator's state"
        raise EngineError(f"{message}: unset it, and set a cluster with spark.master or start with spark-submit")
    home = os.environ.get("SPARK_HOME")
    if home and not (Path(home) / "bin" / "spark-submit").exists():
        message = f"SPARK_HOME is {home!r}, which has no Spark (no bin/spark-submit)"
        raise EngineError(f"{message}: unset it to use the Spark that came with PySpark, or set another folder")


@functools.cache
def _version(java: str) -> int:
    """The major version of a Java, 0 where it does not report one. It is started to find out, once per process."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineError(
            f"Spark needs Java {OLDEST} or newer, but {java} does not run ({error}): {HOW_TO_GET_IT}"
        ) from error
    number = re.search(r'version "(?:1\.)?(\d+)', answer)
    return int(number.group(1)) if number else 0


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home:
        return str(Path(home) / "bin" / "java")
    return shutil.which("java")
