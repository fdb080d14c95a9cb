"""The checkpoint of a served stream: savepoints, the newest two, and the turns since each.

skyband-job.json     the job that it belongs to
skyband-stream.json  the stream's id, by which sinks know its turns, and the savepoint that it started from
000123/              a savepoint after turn 123
turns/000123.log     the turns after it
states.arrow         the states that the port answered from last, where it has one
"""

import json
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import define, field
from skyband import snapshot
from skyband.atomic_files import replacing
from skyband.errors import ConfigError, EngineError, Problem, SnapshotError
from skyband_jobs.running import savepoint
from skyband_jobs.running.savepoint import Savepoint, sync_folder

from skyband_serve.turns import Turn, TurnLog, later_turns

_STREAM, _TURNS, _PARTS = "skyband-stream.json", "turns", ".parts"
_STATES = "states.arrow"
_NUMBER = re.compile("[0-9]{6}|[1-9][0-9]{6,}")
_PARTIAL = re.compile(r"\.[0-9]{6,}\.[0-9a-f]{32}\.partial")
_MOST = 2
_SPARKS = ("offsets", "commits")


@define
class Checkpoint:
    """The folder of a stream's checkpoint, which this process has locked.

    durable: whether a turn is on disk before it is done, which a power loss needs; a kill does not.
    """

    folder: Path
    durable: bool = True
    stream: str | None = field(init=False)
    """The stream's id; None before it begins."""
    _from: str | None = field(default=None, init=False)
    """The id of the savepoint that it started from."""
    _log: TurnLog | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        if any((self.folder / name).exists() for name in _SPARKS):
            message = f"{str(self.folder)!r} is a checkpoint of Spark: save it with `skyband savepoint`"
            raise ConfigError(Problem("sink.checkpoint", f"{message}, and start from that with --from and a new one"))
        record = self._record()
        self.stream, self._from = (None, None) if record is None else (str(record["id"]), record.get("from"))

    @property
    def has_turns(self) -> bool:
        """Whether a turn may have been done."""
        return bool(self._logs())

    def _record(self) -> dict[str, Any] | None:
        path = self.folder / _STREAM
        try:
            record = json.loads(path.read_text("utf-8"))
            if isinstance(record["id"], str):
                return dict(record)
        except FileNotFoundError:
            if self.has_turns:
                raise SnapshotError(f"damaged: {str(path)!r} is gone: {_REMEDY}") from None
            return None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise SnapshotError(f"damaged: {str(path)!r}: {type(error).__name__}: {error}; {_REMEDY}") from error
        raise SnapshotError(f"damaged: {str(path)!r} names no stream: {_REMEDY}")

    def begin(self, started_from: Path | None = None) -> None:
        """Make a new stream, from the beginning or from a savepoint; go on with the one that is here.

        Raises EngineError where that one started otherwise, ConfigError where the folder has others' files.
        """
        self._remove_unfinished()
        origin = None if started_from is None else savepoint.read(started_from).id
        if self.stream is not None:
            if origin not in (None, self._from):
                message = f"the checkpoint {str(self.folder)!r} is from a stream that started otherwise"
                remedy = "run the job without --from to resume it, or choose another sink.checkpoint and sink"
                raise EngineError(f"{message}: {remedy}")
            return
        first = self.place_of(0)
        shutil.rmtree(first, ignore_errors=True)  # of a start that was killed
        if foreign := self._savepoints():
            message = f"{str(self.folder)!r} has a folder {foreign[0].name!r}, which this stream did not write"
            raise ConfigError(Problem("sink.checkpoint", f"{message}: choose an empty folder"))
        if started_from is not None:
            shutil.copytree(started_from, first)
            savepoint.to_disk(first)
        self.stream, self._from = uuid.uuid4().hex, origin
        with replacing(self.folder / _STREAM) as file:
            file.write(json.dumps({"id": self.stream, "from": origin}).encode())
        sync_folder(self.folder)

    def starts(self) -> Iterator[tuple[Path | None, list[Turn]]]:
        """The savepoints to start from, newest first, each with the turns to do again; None: from the beginning.

        Raises SnapshotError where a log is damaged.
        """
        logs, savepoints = self._logs(), self._savepoints()
        newest = max((int(path.name) for path in savepoints), default=0)
        for path in savepoints:
            yield path, list(later_turns(logs, int(path.name), newest))
        is_first = not logs or int(logs[0].stem) == 0
        if self._from is None and is_first:
            yield None, list(later_turns(logs, 0, newest))

    def intend(self, turn: Turn) -> None:
        """Write a turn down before it is done. Raises OSError where the disk is full or fails."""
        if self._log is None:
            logs = self._logs()
            self._log = TurnLog(logs[-1] if logs else self._log_after(turn.number - 1), self.durable)
        self._log.append(turn)

    def parts_folder(self) -> Path:
        """A new folder for what the next savepoint takes over."""
        folder = self.folder / _PARTS
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    @property
    def states_file(self) -> Path:
        """The file of the newest states."""
        return self.folder / _STATES

    def place_of(self, number: int) -> Path:
        """The folder of the savepoint after a turn."""
        return self.folder / f"{number:06}"

    def saved(self, number: int) -> None:
        """The savepoint after this turn is complete: begin a new log, and remove what only older savepoints need.

        While turns are done again the logs stay as they are: the next ones are in them.
        """
        shutil.rmtree(self.folder / _PARTS, ignore_errors=True)
        savepoints = self._savepoints()
        for path in savepoints[_MOST:]:
            shutil.rmtree(path)
        if self._log is None:
            return
        self.close()
        self._log = TurnLog(self._log_after(number), self.durable)
        oldest = int(savepoints[_MOST - 1].name) if len(savepoints) >= _MOST else 0
        for log in [path for path in self._logs() if int(path.stem) <= oldest][:-1]:
            log.unlink()

    def drop_after(self, number: int) -> None:
        """Remove savepoints after this turn, which were passed over as damaged, to make them again."""
        for path in self._savepoints():
            if int(path.name) > number:
                shutil.rmtree(path)

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def _remove_unfinished(self) -> None:
        """Remove what processes left that were killed while they wrote."""
        for path in self.folder.glob("_*.partial"):
            path.unlink()
        for path in self.folder.iterdir():
            if path.name == _PARTS or _PARTIAL.fullmatch(path.name):
                shutil.rmtree(path)

    def _savepoints(self) -> list[Path]:
        """Newest first."""
        named = [path for path in self.folder.iterdir() if _NUMBER.fullmatch(path.name) and path.is_dir()]
        return sorted(named, key=lambda path: -int(path.name))

    def _logs(self) -> list[Path]:
        """Oldest first."""
        named = [path for path in (self.folder / _TURNS).glob("*.log") if _NUMBER.fullmatch(path.stem)]
        return sorted(named, key=lambda path: int(path.stem))

    def _log_after(self, number: int) -> Path:
        return self.folder / _TURNS / f"{number:06}.log"


_REMEDY = "restore it from a backup, or start over with a new checkpoint and a new sink"


def read_whole(folder: Path) -> tuple[Savepoint, list[bytes]]:
    """A savepoint and its snapshots. Raises SnapshotError where any of it is damaged or missing."""
    try:
        contents = savepoint.read(folder)
        snapshots = contents.snapshots()
    except (EngineError, OSError) as error:
        raise SnapshotError(str(error)) from error
    for blob in snapshots:
        snapshot.decode(blob)  # so that what a job refuses later is about the job
    return contents, snapshots
