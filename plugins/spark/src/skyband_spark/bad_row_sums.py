"""Whether as many bad rows of a stream on Spark were put aside as its answers are without.

Both streams read the source by themselves, each cut into micro-batches of its own. Where both have come to the same
place of the source, as many rows must have been counted as were put aside since the last place where they met. Only
micro-batches that have ended in this run are counted, so that one that is given again after a kill is counted once.
"""

import json
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from attrs import define, field
from skyband.operator.metrics import check_sum
from skyband_jobs.job.model import Source, local_path
from skyband_jobs.running.bad_rows import BAD, key_of

from skyband_spark.reading.vanished_files import log_entry, parse_offset

_NO_PLACES = ("rate", "socket")
"""Sources whose offsets count from when a stream began, so that two streams have not the same rows at one offset."""
_MOST = 10_000
"""Places that are remembered until the two streams meet."""


class BadRowSums:
    """Compares the bad rows that the answers of a stream are without with those put aside, as both go on."""

    def __init__(self, source: Source, checkpoint: str | None, beside: str | None) -> None:
        """checkpoint, beside: those of the stream of the answers, and of that of the bad rows."""
        self._counted, self._aside = (_Side(_Places.of(source, where)) for where in (checkpoint, beside))

    def count(self, progress: Any, rows: int) -> None:
        """Take in a micro-batch of the answers that has ended, with how many bad rows it counted."""
        self._counted.add(progress, rows)

    def put_aside(self, progress: Any, rows: int) -> None:
        """Take in a micro-batch of bad rows that has ended."""
        self._aside.add(progress, rows)

    def check(self) -> None:
        """Raise EngineError unless they are as many between the first and the last place where both have been."""
        common = [place for place in self._counted.rows_at if place in self._aside.rows_at]
        if len(common) > 1:
            where = f"the stream of {key_of(BAD)} reads the source by itself, which may have changed"
            check_sum(self._counted.between(common[0], common[-1]), self._aside.between(common[0], common[-1]), where)
            for side in (self._counted, self._aside):
                side.forget_before(common[-1])


@define
class _Side:
    """The places to which one of the streams has come in this run."""

    places: "_Places"
    rows_at: dict[str, int] = field(factory=dict)
    """Bad rows up to each, from some place on, in the order of the source."""
    _rows: int = 0
    _last: int | None = None

    def add(self, progress: Any, rows: int) -> None:
        if self._last is not None and progress.batchId != self._last + 1:  # one was not heard of: begin anew
            self.rows_at.clear()
        self._last = progress.batchId
        begin, end = self.places.of_micro_batch(progress.sources[0])
        if not self.rows_at and begin is not None:
            self.rows_at[begin] = self._rows
        self._rows += rows
        if end is None or len(self.rows_at) >= _MOST:
            self.rows_at.clear()
        if end is not None:
            self.rows_at[end] = self._rows

    def between(self, begin: str, end: str) -> int:
        return self.rows_at[end] - self.rows_at[begin]

    def forget_before(self, place: str) -> None:
        places = list(self.rows_at)
        for one in places[: places.index(place)]:
            del self.rows_at[one]


class _Places:
    """Places of a source, by which two streams know whether they have read the same of it."""

    @staticmethod
    def of(source: Source, checkpoint: str | None) -> "_Places":
        folder = None if checkpoint is None else local_path(checkpoint)
        return _Places(source.format, None if folder is None else folder / "sources" / "0")

    def __init__(self, format: str, log: Path | None) -> None:
        self._format, self._log = format, log
        self._entry, self._files = -1, 0
        """Of files: the entry of Spark's log up to which these are, and their names as one number, in any order."""

    def of_micro_batch(self, source: Any) -> tuple[str | None, str | None]:
        """Where a micro-batch begins and ends, of the progress of its source; None: that is not known."""
        if source.description.startswith("FileStreamSource"):
            return self._after_entry(source.startOffset), self._after_entry(source.endOffset)
        if self._format in _NO_PLACES:
            return None, None
        return _plain(source.startOffset), _plain(source.endOffset)

    def _after_entry(self, offset: str | None) -> str | None:
        """The number of an entry is of one stream's log alone: the files up to it are the place."""
        number = log_entry(offset)
        if self._log is None:
            return None
        if number < self._entry:
            self._entry, self._files = -1, 0
        try:
            for name in _names_between(self._log, self._entry, number):
                self._files ^= int.from_bytes(blake2b(name.encode(), digest_size=16).digest(), "big")
        except OSError:  # an entry has gone: where this is is not known
            self._entry, self._files = -1, 0
            return None
        self._entry = number
        return f"{self._files:032x}"


def _plain(offset: str | None) -> str | None:
    """An offset in one form; None, where it is the first, which each stream may have chosen for itself."""
    try:
        parsed = parse_offset(offset)
    except ValueError:  # a connector writes its offsets as it likes
        return offset
    return None if parsed is None else json.dumps(parsed, sort_keys=True)


def _names_between(log: Path, after: int, last: int) -> Iterator[str]:
    """The files of the entries after + 1 to last of a log, some of which hold all before them as well, which may have
    gone. Raises OSError where an entry is not there."""
    whole = sorted(int(path.stem) for path in log.glob("*.compact") if int(path.stem) > after)
    first = max((number for number in whole if number <= last), default=None)
    paths = [log / str(number) for number in range((after if first is None else first) + 1, last + 1)]
    if all(path.exists() for path in paths):
        paths = paths if first is None else [log / f"{first}.compact", *paths]
    else:
        later = min((number for number in whole if number > last), default=last)
        paths = [log / f"{later}.compact"]
    for path in paths:
        for line in path.read_text("utf-8").splitlines()[1:]:
            entry = json.loads(line)
            if after < entry.get("batchId", last) <= last:
                yield entry["path"]
