"""What was known of a group's windows when they ended: the totals of their objects, to be compared with later ones."""

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np
from skyband.arrays import Array
from skyband.state_validation import StateReader

from skyband_totals.top import EMPTY_TOP, Top, Tops

ENTRY, OBJECT = 300, 16
"""The bytes of an entry besides its arrays, and of an object in these; twice as many with bounds."""
_NUMBERS = ("grand", "grand_low", "grand_high", "rest")
_COLUMNS = ("totals", "low", "high")


class EarlierTops:
    """The answers of the windows that ended within a lag, by the number of the window, in order of their ends.

    Windows without rows are not kept.
    """

    def __init__(self, windows: int) -> None:
        self._windows = windows
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._ended = [deque[tuple[int, Top]]() for _ in range(self._windows)]
        self._bytes = self._objects = 0

    def __len__(self) -> int:
        return self._objects

    @property
    def nbytes(self) -> int:
        """Bytes of all entries. O(windows)."""
        return self._bytes + ENTRY * sum(map(len, self._ended))

    def add(self, window: int, at: int, top: Top) -> None:
        """Remember a window with rows, which ended later than those before. O(objects)."""
        exact = all(np.array_equal(getattr(top, name), top.totals) for name in ("low", "high"))
        totals = top.totals.copy()
        low, high = (totals, totals) if exact else (top.low.copy(), top.high.copy())
        entry = Top(top.objects.copy(), totals, low, high, top.grand, top.grand_low, top.grand_high, top.rest)
        self._ended[window].append((at, entry))
        self._count(entry)

    def find(self, window: int, at: int, keep: int) -> Top:
        """The window that ended at a moment, EMPTY_TOP if it had no rows; forgets those that ended before `keep`."""
        ended = self._ended[window]
        while ended and ended[0][0] < keep:
            self._count(ended.popleft()[1], -1)
        for end, top in ended:
            if end >= at:
                return top if end == at else EMPTY_TOP
        return EMPTY_TOP

    def merge(self, other: "EarlierTops") -> None:
        """Add what other shards, which have other objects, remember of the same windows."""
        for window, (ours, theirs) in enumerate(zip(self._ended, other._ended, strict=True)):
            by_end: dict[int, list[Top]] = {}
            for end, top in sorted([*ours, *theirs], key=lambda entry: entry[0]):
                by_end.setdefault(end, []).append(top)
            self._ended[window] = deque(
                (end, tops[0] if len(tops) == 1 else _both(tops)) for end, tops in by_end.items()
            )
        self._bytes = self._objects = 0
        for top in (top for ended in self._ended for _, top in ended):
            self._count(top)

    def _count(self, top: Top, sign: int = 1) -> None:
        columns = 1 if _is_exact(top) else len(_COLUMNS)
        self._bytes += sign * (top.objects.nbytes + top.totals.nbytes * columns)
        self._objects += sign * len(top.objects)

    def to_arrays(self) -> dict[str, Array]:
        """Flat arrays for a state. Bounds that equal the total are not repeated."""
        entries = [(window, at, top) for window, ended in enumerate(self._ended) for at, top in ended]
        tops = [top for _, _, top in entries]
        sizes = [len(top.objects) for top in tops]
        arrays: dict[str, Array] = {
            "of": np.array([window for window, _, _ in entries], np.int64),
            "at": np.array([at for _, at, _ in entries], np.int64),
            "sizes": np.array(sizes, np.int64),
            "bounded": np.array([not _is_exact(top) for top in tops], np.int64),
            "objects": np.concatenate([np.empty(0, np.int64), *(top.objects for top in tops)]),
            "numbers": np.array([[getattr(top, name) for name in _NUMBERS] for top in tops]).reshape(-1),
        }
        for name in _COLUMNS:
            parts = [getattr(top, name) for top in tops if name == "totals" or not _is_exact(top)]
            arrays[name] = np.concatenate([np.empty(0), *parts])
        return arrays

    def load(self, arrays: Mapping[str, Array], before: int) -> None:
        """Load the result of `to_arrays`, of windows that ended earlier than `before`. Raises SnapshotError."""
        reader = StateReader(arrays)
        of = reader.column("of", np.int64, at_least=0, at_most=self._windows - 1)
        at = reader.column("at", np.int64, len(of), at_most=before - 1)
        objects = reader.column("objects", np.int64)
        sizes = reader.sizes("sizes", len(of), len(objects))
        bounded = reader.column("bounded", np.int64, len(of), at_least=0, at_most=1).astype(bool)
        numbers = reader.column("numbers", np.float64, len(_NUMBERS) * len(of), at_least=0, at_most=np.finfo(float).max)
        rising = (of[1:] > of[:-1]) | ((of[1:] == of[:-1]) & (at[1:] > at[:-1]))
        reader.require(bool(rising.all()), "at", "must be ascending for each window")
        parts = {"objects": np.split(objects, np.cumsum(sizes)[:-1])}
        for name in _COLUMNS:
            own = sizes if name == "totals" else sizes[bounded]
            column = reader.column(name, np.float64, int(own.sum()), at_least=0, at_most=np.finfo(float).max)
            parts[name] = np.split(column, np.cumsum(own)[:-1])
        place = np.cumsum(bounded) - 1
        for entry, (window, end) in enumerate(zip(of.tolist(), at.tolist(), strict=True)):
            totals = parts["totals"][entry]
            low, high = (parts[name][place[entry]] if bounded[entry] else totals for name in ("low", "high"))
            grand, least, most, rest = numbers[len(_NUMBERS) * entry :][: len(_NUMBERS)].tolist()
            self.add(window, end, Top(parts["objects"][entry], totals, low, high, grand, least, most, rest))


def _is_exact(top: Top) -> bool:
    return top.low is top.totals


def _both(tops: Sequence[Top]) -> Top:
    """Answers over the same window of shards, which share no object, in one."""
    parts = Tops.of(tops)
    order = np.argsort(parts.objects)
    grand, least, most = (float(column.sum()) for column in (parts.grand, parts.grand_low, parts.grand_high))
    totals, low, high = (column[order] for column in (parts.totals, parts.low, parts.high))
    if all(map(_is_exact, tops)):
        low = high = totals
    return Top(parts.objects[order], totals, low, high, grand, least, most, float(parts.rest.max()))
