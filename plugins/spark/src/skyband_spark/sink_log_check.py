"""Checks that a stream's checkpoint and the log of its file sink belong together: if not, Spark silently loses answers.

Spark's file sink lists the files of every micro-batch in `_spark_metadata`, and its readers see no others. It skips
a micro-batch whose number is already listed, and starts an empty list if there is none.
"""

from collections.abc import Iterable
from pathlib import Path

from skyband.errors import ConfigError, Problem

LOG = "_spark_metadata"
_NO_FILES = b"v1"


def check_belong(checkpoint: Path, sink: Path, key: str = "path") -> None:
    """Raise ConfigError, with the folder and the remedy, where resuming would lose or hide answers.

    key: the key that names the folder, `path` or `table`.
    """
    committed, begun = latest(checkpoint / "commits"), latest(checkpoint / "offsets")
    logged = latest(sink / LOG)
    if begun < 0 and committed < 0:
        _check_new(checkpoint, sink, logged, key)
    elif logged < committed:
        there = f"ends at {logged}" if logged >= 0 else "is gone"
        _refuse(
            key,
            f"the log of answers {str(sink / LOG)!r} {there}, but the checkpoint {str(checkpoint)!r} has written "
            f"micro-batch {committed}: restore the log, or start over with another {key} and another checkpoint",
        )
    elif logged > begun:
        _refuse(
            key,
            f"{str(sink)!r} has the answers of micro-batch {logged}, but the checkpoint {str(checkpoint)!r} is only at "
            f"{begun}: Spark would drop answers up to there; restore the newer checkpoint, or choose another {key}",
        )


def _check_new(checkpoint: Path, sink: Path, logged: int, key: str) -> None:
    if logged >= 0:  # a stream that stops before its first micro-batch leaves an empty log
        what = "is empty" if checkpoint.exists() else "does not exist"
        _refuse(
            key,
            f"{str(sink)!r} has the answers of another stream, up to micro-batch {logged}, but its checkpoint "
            f"{str(checkpoint)!r} {what}: choose another {key}, or restore the checkpoint",
        )
    if sink.is_dir() and any(path.name.startswith("part-") for path in sink.iterdir()):
        _refuse(
            key,
            f"{str(sink)!r} has answers that no stream wrote, which Spark's readers would no longer see: "
            f"choose another {key}, or move them away",
        )


def is_seeded(sink: Path, batches: Iterable[int]) -> bool:
    """Whether a sink's log lists exactly what `seed` wrote."""
    log = sink / LOG
    entries = [path for path in log.iterdir() if not path.name.startswith(".")] if log.is_dir() else []
    own = {str(batch) for batch in batches}
    return bool(entries) and all(path.name in own and path.read_bytes() == _NO_FILES for path in entries)


def seed(sink: Path, batches: Iterable[int]) -> None:
    """List micro-batches without answers, for a stream whose checkpoint already counts them."""
    log = sink / LOG
    log.mkdir(parents=True, exist_ok=True)
    for batch in batches:
        (log / str(batch)).write_bytes(_NO_FILES)


def latest(log: Path) -> int:
    """The number of the latest micro-batch in one of Spark's logs, -1 where there is none."""
    if not log.is_dir():
        return -1
    numbers = (path.name.removesuffix(".compact") for path in log.iterdir())
    return max((int(number) for number in numbers if number.isascii() and number.isdigit()), default=-1)


def _refuse(key: str, message: str) -> None:
    raise ConfigError(Problem(f"sink.{key}", message))
