"""object-ranker/approx: early aggregation with expected values from the streams' correlation."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int64
from skyband.config.literals import literal
from skyband.config.parameters import checked, integer, number
from skyband.state_validation import StateReader

from skyband_incomplete import kernels
from skyband_incomplete.correlation import Appearance, check_unions
from skyband_incomplete.eaa_arrays import HEAD, HIGHEST, INSTANCES, OBJECT, TAIL, Rows
from skyband_incomplete.early_aggregation import ALWAYS, NEVER, InstanceRanker


def _check_sketch(value: Any) -> str | None:
    if value is None or isinstance(value, str) or (isinstance(value, Mapping) and isinstance(value.get("name"), str)):
        return None
    return f"must be a sketch's name, or a table with its name and parameters (got {literal(value)})"


@define(eq=False)
class AppearanceCorrelation(InstanceRanker):
    """Keeps less than `eaa`, by weighting an unseen value with its probability to arrive.

    `eaa` counts a value that has not arrived yet as `upper`; this ranker counts it as `upper` times the probability
    that it arrives at all. That probability is measured by sketches over the window: of the objects in the same streams
    as this object, the share that is also in the other stream. Every `refresh` rows it is measured again, and reports
    that can no longer reach an answer are dropped. An object that does better than expected may be missing from an
    answer, or be in it with only part of its score. With `chance=1` the answers are those of `eaa`.

    Chances are used from the first row with which the window holds more than `exact_reports` reports; in the paper from
    the very first row, as with `exact_reports=0`. Until then every value is expected, so answers are exact, and there
    are no sketches, which would take more memory than the reports of such a window. If `repeats` is "latest",
    "largest", "smallest" or "mean", nothing is ever dropped and the answers are those of `eaa`.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    k : int
        objects in an answer (at least 1)
    window : int
        length of the window, in the unit of the times or in rows (at least 1)
    streams : int
        number of streams that report attributes, numbered from 0 (at least 1 and at most 65536)
    aggregate : str | weights | function, default "sum"
        score of an object from its valid values, one per stream, 0 if it has none (sum, mean, min, max, a weight
        per stream, or a monotone function)
    upper : float, default 1.0
        no value is above this (above 0)
    lower : float, default 0.0
        no value is below this; may be below 0 if `repeats` is latest, largest, smallest or mean (at most 0)
    repeats : str | int, default "latest"
        which of an object's valid reports in a stream counts: the latest, largest, smallest or mean; or a promise
        that it reports never again, at most once per window, or m times per window, summed (latest, largest,
        smallest, mean, never, per-window, or a number)
    sketch : str | table, default None
        the sketch that counts shared objects of streams (a sketch's name, or {name=…, …} with its parameters; none: the
        default sketch)
    refresh : int, default 100
        rows between measurements of the chances (at least 1)
    chance : float, default None
        probability that an unseen value arrives at all; none: measured (at least 0 and at most 1)
    exact_reports : int, default 512
        answers are exact until the window holds more reports than this (at least 0)

    Complexity
    ----------
    Once chances are used, a row goes into half of the 2^streams − 1 sketches, and every `refresh` rows cost an estimate
    of each sketch, O(3^streams) for the probabilities, and a sweep over all retained reports. Memory is that of `eaa`
    plus the sketches. `len` counts the instances kept by the last measurement; up to `refresh` more reports are held.

    References
    ----------
    Haghani, Michel and Aberer, Evaluating top-k queries over incomplete data streams, CIKM 2009, section 4
    (approxAlgo). The sign in the paper's formula for the size of the join is corrected, and since the measured
    probabilities change, each measurement decides again what to keep.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("object-ranker", "approx", k=2, window=10, streams=2)
    >>> ranker.update(times=[1, 2, 3], streams=[0, 1, 0], objects=[7, 7, 8], values=[0.5, 0.25, 0.625])
    >>> objects, scores = ranker.top()
    >>> objects.tolist(), scores.tolist()
    ([7, 8], [0.75, 0.625])
    """

    name: ClassVar[str] = "approx"

    sketch: str | Mapping[str, Any] | None = checked(
        None,
        type="str | table",
        check=_check_sketch,
        bounds="a sketch's name, or {name=…, …} with its parameters; none: the default sketch",
        help="the sketch that counts shared objects of streams",
    )
    refresh: int = integer(100, at_least=1, help="rows between measurements of the chances")
    chance: float | None = number(
        None, at_least=0, at_most=1, help="probability that an unseen value arrives at all; none: measured"
    )
    exact_reports: int = integer(
        512,
        at_least=0,
        help="answers are exact until the window holds more reports than this",
    )

    _appearance: Appearance | None = field(default=None, init=False, repr=False)
    _since_refresh: int | None = field(default=None, init=False, repr=False)
    """Rows since the last measurement; None while chances are not used yet."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._rule = self._rule._replace(limit=self.exact_reports)
        if self.chance is None and self._live is None:
            check_unions(self.streams, self.sketch)

    @property
    def exact_up_to(self) -> int:
        """`exact_reports`: answers are exact until the window holds more.

        A ranker that takes over the reports of a small group continues like one that had them from the start: both use
        chances from the same row on.
        """
        return super().exact_up_to if self._live is not None else self.exact_reports

    def __len__(self) -> int:
        if self._live is not None:
            return self._live.retained(self._start)
        self._sweep_all(self._start, NEVER)
        return int(self._cursor[INSTANCES])

    @property
    def _start(self) -> int:
        return self._oldest(self._now)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, including spare room, and of the sketches."""
        return super().nbytes + (0 if self._appearance is None else self._appearance.nbytes)

    @property
    def _thrift(self) -> float:
        return NEVER

    def _relieve(self, first: int) -> None:
        """Drop expired reports only: doomed ones are dropped at rows that do not depend on batches."""
        self._drop_expired(first)

    def _replay(self, rows: Rows, stops: Int64, firsts: Int64) -> tuple[Int64, Int64, Float64]:
        if self._live is not None:
            return super()._replay(rows, stops, firsts)
        start, done = 0, 0
        answers = []
        while start < len(rows.time):
            stop = len(rows.time)
            if self._since_refresh is not None:
                stop = min(stop, start + self.refresh - self._since_refresh)
            until = int(np.searchsorted(stops, stop, side="left"))
            piece = rows.part(start, stop)
            taken, offsets, found, points = self._take_in(piece, stops[done:until] - start, firsts[done:until])
            answers.append((offsets, found, points))
            piece = piece.part(0, taken)
            if self._since_refresh is None:
                self._begin_to_measure(self._first(self._reached(piece.time)))
            else:
                self._measure(piece)
            start, done = start + taken, done + len(offsets) - 1
        answers.append(self._take_in(rows.part(0, 0), np.zeros(len(stops) - done, np.int64), firsts[done:])[1:])
        sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(offsets) for offsets, _, _ in answers)])
        ids, scores = (np.concatenate([answer[part] for answer in answers]) for part in (1, 2))
        return np.cumsum(sizes), ids, scores

    def _begin_to_measure(self, first: int) -> None:
        """Start to use chances if the window, which begins at `first`, holds too many reports."""
        head, tail = int(self._cursor[HEAD]), int(self._cursor[TAIL])
        head += int(np.searchsorted(self._reports.time[head:tail], first))
        if tail - head <= self.exact_reports:
            return
        self._count_on_chances()
        reports, valid = self._reports, slice(head, tail)
        objects = self._slots.facts[reports.slot[valid], OBJECT]
        self._measure(Rows(reports.time[valid], reports.stream[valid], objects, reports.value[valid]))

    def _count_on_chances(self) -> None:
        if self.chance is None:
            self._appearance = Appearance(self.streams, self.sketch)
        at_first = 1.0 if self.chance is None else self.chance
        self._rule = self._rule._replace(chances=np.full((1, self.streams), at_first), limit=HIGHEST)
        self._since_refresh = 0

    def _measure(self, rows: Rows) -> None:
        """Count the rows; if a refresh is due, update the chances and drop what they doom."""
        assert self._since_refresh is not None
        self._since_refresh += len(rows.time)
        if self._appearance is not None:
            self._appearance.update(rows.time, rows.stream, rows.object)
        if self._since_refresh < self.refresh:
            return
        self._since_refresh = 0
        first = self._first(self._reached(rows.time))
        if self._appearance is not None:
            self._rule = self._rule._replace(chances=self._appearance.chances(first))
        self._sweep_all(first, ALWAYS)

    def _sweep_all(self, first: int, thrift: float) -> None:
        """A sweep that scores every object by the current chances."""
        if not self._rule.once:
            kernels.forget(first, self._cursor, self._slots, self._log)
        kernels.touch_all(self._cursor, self._reports, self._slots)
        self._sweep(first, thrift)

    def _state(self) -> dict[str, Array]:
        sketches = {} if self._appearance is None else self._appearance.state()
        return {
            **super()._state(),
            **sketches,
            "since_refresh": np.array([] if self._since_refresh is None else [self._since_refresh], np.int64),
            "chances": self._rule.chances.reshape(-1),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        super()._load(state)
        reader = StateReader(state)
        since = reader.column("since_refresh", np.int64, at_least=0, at_most=self.refresh - 1)
        chances = reader.column("chances", np.float64, at_least=0, at_most=1)
        if not len(since):
            reader.require(not len(chances), "chances", "must be empty while they are not used")
            return
        reader.require(len(since) == 1, "since_refresh", f"must be one count (got {len(since)})")
        reader.require(self._live is None, "since_refresh", "must be empty if all reports are exact")
        self._count_on_chances()
        self._since_refresh = int(since[0])
        sizes = {self.streams} if self._appearance is None else {self.streams, self.streams << self.streams}
        reader.require(len(chances) in sizes, "chances", f"must be {sizes} (got {len(chances)})")
        self._rule = self._rule._replace(chances=chances.reshape(-1, self.streams).copy())
        if self._appearance is not None:
            self._appearance.load(reader, self._now)
