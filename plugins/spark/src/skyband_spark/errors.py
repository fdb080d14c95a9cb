"""Turns Spark's exceptions into one sentence: our own error if a worker raised it, else the cause with a remedy."""

import logging
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from skyband.errors import ConfigError, EngineError, Problem, SkybandError
from skyband.registry.install_hints import format_comes_with
from skyband_jobs.formats import names_of_formats
from skyband_jobs.tables.model import Job, local_path

from skyband_spark.spark_session.java_process import how_java_ended

_OURS = "skyband.errors."
_FAILED_STREAM = re.compile(r"\[STREAM_FAILED\] .*? terminated with exception: ")
_DUMP = re.compile(
    r"\n\s*\n|\n\s*at |\n\s*File \"|\n===|\n?\s*(?:During handling|The above exception|Traceback \(|Caused by:|"
    r"(?:Driver|JVM) stacktrace)|\s*SQLSTATE: \w{5}"
)
"""The start of what Spark appends to an error."""

_CAUSE = re.compile(r"^(?:Caused by|): (?P<name>[\w.$]+): (?P<what>.+)$", re.MULTILINE)
_OF_CHECKPOINT = re.compile(
    r"STATE_STORE|[Ss]tate ?[Ss]tore|RocksDB|[Cc]hangelog|/(?:offsets|commits|state|sources|metadata)\b|MALFORMED_LOG|"
    r"^Json\w+Exception"
)
_GONE = "Error while sending or receiving", "does not exist in the JVM", "Answer from Java side is empty"
_LATE_PYTHON = "Python worker failed to connect back"
_OF_MACHINE = re.compile(
    r"No space left on device|[Dd]isk quota exceeded|Too many open files|Read-only file system|File too large"
)
"""Refusals of an operating system, in whatever error of Spark."""
_ROOM = 1 << 20
"""The bytes that a micro-batch is expected to write."""
_NO_PROGRAM = re.compile(r'Cannot run program "([^"]+)"')
_OF_TYPES = re.compile(
    r"PARQUET_COLUMN_DATA_TYPE_MISMATCH|ColumnConvertNotSupported|Parquet column cannot be converted"
)
"""A reader's errors for a file whose columns have other types than the source's."""
_FILE = re.compile(r"(?:reading file|[Ff]ile path:|in file) ['\"]?(?P<path>[\w/][^\s'\"]*[^\s'\".,;:)])")
_NO_FORMAT = re.compile(r"Failed to find (?:the )?data source: ([\w.-]+?)\.?(?:\s|$)")
_GONE_TABLE = re.compile(r"\[TABLE_OR_VIEW_NOT_FOUND\] The table or view (?P<name>\S+) cannot be found")
_GONE_FILE = re.compile(r"FILE_NOT_EXIST|Option 'basePath' not found")
"""Spark's errors for files, or all files of a table, that no longer exist."""
_TAKEN_AWAY = re.compile(
    r"No such file or directory|FileNotFoundException: File \S+ does not exist|NoSuchFileException"
)
"""A file system's errors for a file that disappears while a task reads or writes it."""
_CLOSED = re.compile(r"[Pp]ermission denied|Operation not permitted|AccessControl|ParentNotDirectory|Mkdirs failed")
"""A file system's errors for a place that may not be read or written."""
_OF_SOURCE = re.compile(r"FAILED_READ_FILE|CANNOT_READ_FILE|[Nn]ot read footer|not a Parquet file")


_OF_WORKER = re.compile(
    r"\[PYTHON_EXCEPTION\][\s\S]*?Traceback \(most recent call last\):\n(?:[ \t].*\n)*(?P<what>\S.*)"
)
"""What a Python worker raised: the first line of a traceback that is not indented."""


@contextmanager
def plain_errors(job: Job | None = None) -> Iterator[None]:
    """Raise EngineError with one sentence instead of Spark's exceptions; `job`: its files may be the cause."""
    try:
        yield
    except SkybandError:
        raise
    except Exception as error:
        ended = how_java_ended() if is_gone(error) else None
        if ended is not None:
            message = f"Spark's Java process ended {ended} while the job ran"
            raise EngineError(f"{message}: give it more memory with spark.driver.memory and run again") from error
        if is_of_spark(error):
            raise EngineError(sentence(f"{_refusal(error)}{error}", job)) from error
        raise


def is_of_spark(error: Exception) -> bool:
    """Whether Spark, or Java in it, raised the error."""
    from pyspark.errors import PySparkException

    return isinstance(error, PySparkException) or type(error).__module__.startswith("py4j")


def cause_of(error: Exception) -> str:
    """The innermost cause of an error of Spark, in one line, without a remedy."""
    return _innermost(f"{_refusal(error)}{error}") or "Spark does not say why"


def _refusal(error: Exception) -> str:
    """The operating system's cause on its own line, where Spark's text leaves it out; else ""."""
    cause = getattr(error, "_origin", None)
    text = str(error)
    try:
        while cause is not None:
            line = f"Caused by: {cause.getClass().getName()}: {cause.getMessage()}\n"
            refused = _OF_MACHINE.search(line) or (None if _OF_SOURCE.search(text) else _TAKEN_AWAY.search(line))
            if refused is not None and cause.getCause() is None and refused[0] not in text:
                return line
            cause = cause.getCause()
    except Exception as failure:  # Java may have ended since
        if not is_gone(failure):
            raise
    return ""


def python_was_late(error: Exception) -> bool:
    """Whether Spark gave up waiting for Python to start, which is slow on a busy machine."""
    return _LATE_PYTHON in str(error)


def is_gone(error: Exception) -> bool:
    """Whether the error was raised because Java has ended."""
    return isinstance(error, ConnectionError) or any(text in str(error) for text in _GONE)


@contextmanager
def sql_of(key: str) -> Iterator[None]:
    """Raise ConfigError with the job's key for errors in its SQL, and suppress Spark's log of them."""
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.logger import PySparkLogger

    log = PySparkLogger.getLogger("SQLQueryContextLogger")  # it writes lines of 6 KB to stderr
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise ConfigError(Problem(key, _innermost(str(error)))) from error
    finally:
        log.setLevel(level)


def sentence(text: str, job: Job | None = None) -> str:
    """An error of Spark without its stack; with a remedy where one of the job's files is damaged."""
    if _OURS in text:
        return _without_dump(text[text.rindex(_OURS) :].partition(": ")[2])
    if "sources in the checkpoint" in text:
        return (
            "the checkpoint is from a job with another number of sources; source.finish and source.idle_after add "
            "one: change it back, or give the changed job a new checkpoint"
        )
    raised = _OF_WORKER.search(text)
    if raised is not None:
        what = _without_dump(raised["what"])
        refused = _refused_by_machine(job) if what.startswith("EOFError") else None
        if refused is not None:  # Java could not write and closed the connection
            return f"Spark: {refused}{_remedy(refused, job)}"
        return f"a Python worker of Spark failed: {what}; see Spark's log for where"
    cause = _innermost(text) or "failed without saying why"
    if _OF_TYPES.search(text):
        return f"Spark: {cause}{_of_file(text, cause)}: {_OTHER_TYPES}"
    gone = _GONE_TABLE.search(cause)
    if gone is not None and job is not None and (key := _key_of_table(gone["name"], job)) is not None:
        return f"{key}: the table {gone['name']} is gone: {_BRING_BACK}"
    of_source = _of_file(text, cause) if _OF_SOURCE.search(cause) else ""
    return f"Spark: {cause}{of_source}{_remedy(cause, job, text)}"


_BRING_BACK = "restore it and run again, or start over with another table and another checkpoint"


def _key_of_table(name: str, job: Job) -> str | None:
    """The key of a job that names a table, as Spark calls it; None where none does."""
    last = name.replace("`", "").split(".")[-1].lower()
    tables = {"sink.table": job.sink.table, "source.table": job.source.table}
    return next((key for key, table in tables.items() if table and table.lower().split(".")[-1] == last), None)


def _key_of_path(cause: str, job: Job) -> str | None:
    """The key of a job whose folder occurs in an error; None where none does."""
    paths = {"sink.checkpoint": job.sink.checkpoint, "sink.path": job.sink.path, "source.path": job.source.path}
    folders = {key: local_path(path) for key, path in paths.items() if path is not None}
    named = (
        key for key, folder in folders.items() if folder is not None and folder.is_absolute() and str(folder) in cause
    )
    return next(named, None)


_OTHER_TYPES = (
    "a file of the source has a column of another type than the source, but is not damaged: use the wider type in "
    "source.schema, and write the files with it, also columns without values"
)


def _of_file(text: str, cause: str) -> str:
    """The file that Spark names elsewhere in the text, if the cause does not name it."""
    named = _FILE.search(text)
    return "" if named is None or named["path"] in cause else f" ({named['path']})"


def _has_gone(text: str) -> bool:
    """Whether a file that Spark could not read no longer exists: removed before it was opened, or after."""
    named = _FILE.search(text)
    path = None if named is None else local_path(named["path"])
    away = path is not None and path.is_absolute() and not (path.exists() or Path(unquote(str(path))).exists())
    return away or _TAKEN_AWAY.search(text) is not None


def _refused_by_machine(job: Job | None) -> str | None:
    """The system's error where there is no space for a job's checkpoint; else None."""
    checkpoint = None if job is None or job.sink.checkpoint is None else local_path(job.sink.checkpoint)
    if checkpoint is None or not checkpoint.is_dir():
        return None
    try:
        with tempfile.TemporaryFile(dir=checkpoint) as file:
            file.write(bytes(_ROOM))
    except OSError as error:
        return f"{error.strerror}: {str(checkpoint)!r}"
    return None


def _innermost(text: str) -> str:
    """The innermost cause, in one line."""
    message = _FAILED_STREAM.sub("", text).split("\n===")[0]
    causes = [(match["name"].rpartition(".")[2], _without_dump(match["what"])) for match in _CAUSE.finditer(message)]
    return ": ".join(causes[-1]) if causes else _without_dump(message)


def _without_dump(text: str) -> str:
    return " ".join(_DUMP.split(text.strip(), maxsplit=1)[0].split())


def _remedy(cause: str, job: Job | None, text: str = "") -> str:
    checkpoint = None if job is None else job.sink.checkpoint
    if _OF_MACHINE.search(cause):
        whole = "" if checkpoint is None else f": {checkpoint!r} has the state of the last completed micro-batch"
        return f": fix that and run again{whole}"
    if job is not None and _CLOSED.search(cause) and (key := _key_of_path(cause, job)) is not None:
        return f": check the permissions of {key}, or choose another place"
    if _GONE_FILE.search(cause) or (_OF_SOURCE.search(cause) and _has_gone(text)):
        return f": a file of the source is gone, or its table was dropped; {_BRING_BACK}"
    if _OF_SOURCE.search(cause):
        return ": a file of the source is damaged; fix it or move it away, and run again"
    lacking = _NO_FORMAT.search(cause)
    if lacking is not None and lacking[1] not in names_of_formats():
        return format_comes_with(lacking[1])
    program = _NO_PROGRAM.search(cause)
    if program is not None:
        message = f"Spark also starts the workers' Python, {program[1]!r}, on the driver's machine, where it is missing"
        return f": {message}; unpack the environment there too, or set another with spark.pyspark.python"
    if _LATE_PYTHON in cause:
        return ": Python did not start within the 10 s that Spark waits; run again when the machine is less busy"
    if checkpoint is not None and _OF_CHECKPOINT.search(cause):
        remedy = "restore a copy of it, or start over with another checkpoint and another path"
        return f": the checkpoint {checkpoint!r} is damaged or incomplete; {remedy}"
    if _TAKEN_AWAY.search(cause):
        return f": it disappeared while the job ran, with its folder or table; {_BRING_BACK}"
    return ""
