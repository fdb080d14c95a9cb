"""PaneBand: one k-skyband by panes for the whole workload. The default."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field, setters
from skyband.arrays import TIME_MIN, Array, Float64, Int64, read_only
from skyband.config.parameters import choice, flag
from skyband.errors import ConfigError, Problem
from skyband.kernels import kskyband_kernels
from skyband.roles import Answers, TopKQuery
from skyband.state_validation import StateReader

from skyband_workload import delay_line
from skyband_workload import pane_kernel as kernel
from skyband_workload.analyser import MetaQuery
from skyband_workload.extractor import Found
from skyband_workload.object_band import ObjectBand
from skyband_workload.ranker import NO_MOMENTS, NO_ROWS, STRETCH, MetaRanker
from skyband_workload.scheduler import Moments, OnDemandScheduler, Scheduler, moments_together, starts_together
from skyband_workload.table import Rows


@define(eq=False)
class PaneBand(MetaRanker):
    """One list for all queries, whose cost does not grow with the number of queries and views. The default.

    A view is a window of a query, [T − window, T) for a moment T at which the query answers. A pane is the time between
    two neighbouring starts of views, so rows of a pane are in the same views. A row that is beaten by K rows of its own
    or later panes, where K is the largest k, is in no future answer and is dropped. The kept rows are the K-skyband in
    (score, pane). Rows wait unranked for at most a third of the shortest window, in which most of them are beaten.
    Windows of a few hundred rows have a list of the best of the youngest rows, and do not shorten the wait.

    With `on_demand`, every time with rows is a pane: `ask` then answers any window up to the longest and any k up to
    the largest, at any moment.

    With `repeats = "best"`, an object is in an answer once, by its best row. A row is then dropped if it is beaten by a
    row of its own object or by rows of K others, and the answer is the first row of each of k objects.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    queries : list of (window, slide, k[, phase])
        the queries, numbered from 0 (windows, slides and k at least 1, phases at least 0)
    repeats : str, default "each"
        rank each row, or each object once by its best row of the window (one of each, best)
    on_demand : bool, default False
        the queries only limit what is kept, and any subquery of them can be asked

    Complexity
    ----------
    A row costs O(n / b) amortised for n kept objects and b waiting rows, for any number of queries and views. An answer
    of r objects costs O(r + objects of other views that are skipped), where 64 neighbours that are all older than the
    view count as one; in a short window O(r), and O(rows of the window) once in two windows. About K (1 + ln(W / K))
    objects are retained for W rows in the longest window, somewhat more than the minimum if k differs between queries,
    and at most three waiting rows for each object. With `repeats = "best"` an answer after new rows costs
    O(n log n + n K).

    References
    ----------
    Shastri, MTopS: multi-query optimization for continuous top-k query workloads, WPI 2011, chapter 4, with the
    k-skyband in (score, pane).

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("workload-ranker", "paneband", queries=[(4, 2, 1), (8, 4, 2)])
    >>> answers = ranker.update(times=[0, 1, 3, 5, 8], objects=[10, 11, 12, 13, 14], scores=[5.0, 3.0, 1.0, 6.0, 8.0])
    >>> for answer in answers:
    ...     print(answer.at, answer.query, answer.objects.tolist(), answer.scores.tolist())
    2 0 [10] [5.0]
    4 0 [10] [5.0]
    4 1 [10, 11] [5.0, 3.0]
    6 0 [13] [6.0]
    8 0 [13] [6.0]
    8 1 [13, 10] [6.0, 5.0]
    """

    name: ClassVar[str] = "paneband"

    repeats: str = choice(
        "each", "best", default="each", kw_only=True,
        help="rank each row, or each object once by its best row of the window",
    )  # fmt: skip

    on_demand: bool = flag(
        False, kw_only=True,
        help="the queries only limit what is kept, and any subquery of them can be asked",
    )  # fmt: skip

    _band: Any = field(default=None, init=False, on_setattr=setters.NO_OP)
    _line: Any = field(default=None, init=False, on_setattr=setters.NO_OP)
    _objects: ObjectBand | None = field(default=None, init=False)
    """The kept rows if an object counts once."""

    def _scheduler_of(self, meta: MetaQuery) -> Scheduler:
        return OnDemandScheduler(meta) if self.on_demand else super()._scheduler_of(meta)

    def _reconfigure(self, queries: Sequence[TopKQuery]) -> None:
        if self.on_demand:
            message = "cannot change during a run with `on_demand`: ask for any subquery of them instead"
            raise ConfigError(Problem("queries", message))
        super()._reconfigure(queries)

    def _ask(self, times: Int64, objects: Int64, scores: Float64, at: Int64, since: Int64, k: Int64) -> Answers:
        assert isinstance(self._scheduler, OnDemandScheduler)
        self._scheduler.ask(Moments(at, np.arange(len(at)), since, k))
        parts = [self._update(times, objects, scores)] if len(times) else []
        if len(at) and self._seen:
            parts.append(self._answers_until(max(int(at[-1]), self._passed)))
        whole = Answers.joined([Answers.of(part) for part in parts])
        if self._seen:
            return whole
        no_objects = np.empty(0, np.int64)
        return Answers(np.arange(len(at)), at, np.zeros(len(at) + 1, np.int64), no_objects, np.empty(0))

    def _begin(self, meta: MetaQuery) -> None:
        super()._begin(meta)
        self._fill(np.empty(0, kskyband_kernels.ITEM))

    def _fill(self, items: Array) -> None:
        """Start with the skyband of these items."""
        meta = self._scheduler.meta
        if self.repeats == "best":
            self._objects = ObjectBand(meta.largest_k, items)
            return
        self._band = kskyband_kernels.new(meta.largest_k, delay_line.FLUSH_AT)
        self._line = delay_line.new(self._scheduler.latest_start(self._last), meta.window, meta.k)
        if len(items):
            self._band = kernel.filled(self._band, items)
            self._line = delay_line.begin(self._band, self._line, self._passed, 0)

    def _execute(self, rows: Rows, moments: Moments) -> Found:
        scheduler, panes = self._scheduler, _NO_PANES
        if self._objects is not None:
            last = self._last if self._seen or not len(rows.time) else int(rows.time[0])
            return self._objects.execute(scheduler, last, rows, moments)
        if len(rows.time):
            if self._seen == 0:
                self._last = int(rows.time[0])
                self._line.state[delay_line.BEGAN] = self._last
                self._line.state[delay_line.PANE] = scheduler.latest_start(self._last)
            panes = scheduler.panes(self._last, rows.time)
        before = np.searchsorted(rows.time, moments.at)
        return Found(*self._run(panes, rows, before, moments))

    def _run(self, panes: Int64, rows: Rows, before: Int64, moments: Moments, settles: bool = False) -> list[Array]:
        """Add rows and answer moments; returns the sizes, objects and scores of the answers."""
        room = min(int(np.minimum(moments.k, self._most(rows)).sum()), MOST_ROOM) + delay_line.BLOCK
        tops = np.empty(room, np.int64), np.empty(room, np.float64)
        sizes = np.zeros(len(before), np.int64)
        (objects, scores), filled = self._write(tops, 0, sizes, panes, rows, before, moments, settles)
        return [sizes, objects[:filled], scores[:filled]]

    def _write(
        self, tops: tuple[Array, Array], filled: int, sizes: Int64, panes: Int64, rows: Rows, before: Int64,
        moments: Moments, settles: bool = False,
    ) -> tuple[tuple[Array, Array], int]:  # fmt: skip
        """Write the objects and scores of answers after the first `filled` of `tops`; returns both and their number."""
        questions = before, moments.at, moments.start, moments.k, settles, self._passed
        cursor = np.array([0, 0, 0, filled], np.int64)
        while True:
            self._band, self._line = kernel.run(self._band, self._line, panes, rows, *questions, cursor, sizes, *tops)
            answered, _, _, filled = cursor.tolist()
            if answered == len(before):
                return tops, filled
            room = 2 * (filled + min(int(moments.k[answered]), self._most(rows))) + delay_line.BLOCK
            tops = np.resize(tops[0], room), np.resize(tops[1], room)

    def _most(self, rows: Rows) -> int:
        """The most objects of an answer, once these rows are added."""
        counts = self._band.counts
        return int(counts[kskyband_kernels.SIZE] + counts[kskyband_kernels.PENDING]) + len(rows.time)

    @classmethod
    def _run_together(
        cls, rankers: Sequence[Self], columns: tuple[Int64, Int64, Float64], spans: Int64, until: Int64
    ) -> tuple[Int64, Answers]:
        first, sizes = rankers[0], spans[:, 1] - spans[:, 0]
        plain = first.by == "time" and first.repeats == "each" and not first.on_demand and sizes.max() <= STRETCH
        if not plain or not all(ranker._seen for ranker in rankers):
            return super()._run_together(rankers, columns, spans, until)
        times, objects, scores = (read_only(values) for values in columns)
        ends = np.append(0, np.cumsum(sizes))
        before = np.array([(ranker._seen, ranker._last, ranker._passed) for ranker in rankers], np.int64)
        lasts, has_rows = before[:, 1].copy(), sizes > 0
        lasts[has_rows] = times[spans[has_rows, 1] - 1]
        arrival = read_only(np.repeat(before[:, 0] - ends[:-1], sizes) + np.arange(ends[-1]))
        schedulers = [ranker._scheduler for ranker in rankers]
        panes = starts_together(schedulers, before[:, 1], lasts)
        reached = np.maximum(np.maximum(before[:, 2], lasts), until).tolist()
        moments = moments_together(schedulers, before[:, 2].tolist(), reached)
        cuts = np.cumsum([0, *(len(due.at) for due in moments)])
        sizes_of = np.zeros(cuts[-1], np.int64)
        room = min(first._scheduler.meta.largest_k * int(cuts[-1]), MOST_ROOM)
        tops, filled = (np.empty(room + delay_line.BLOCK, np.int64), np.empty(room + delay_line.BLOCK)), 0
        each = zip(
            rankers, spans.tolist(), pairwise(ends.tolist()), pairwise(cuts.tolist()), panes, moments, reached,
            lasts.tolist(), strict=True,
        )  # fmt: skip
        for ranker, (start, stop), (begin, end), (low, high), starts, due, now, last in each:
            rows = NO_ROWS
            if stop > start:
                rows = Rows(times[start:stop], objects[start:stop], scores[start:stop], arrival[begin:end])
            if stop > start or high > low:
                counts = rows.time.searchsorted(due.at)
                tops, filled = ranker._write(tops, filled, sizes_of[low:high], starts, rows, counts, due)
            ranker._note(stop - start, last, now)
            ranker._now = now
        offsets = np.append(0, np.cumsum(sizes_of))
        query, at = (np.concatenate([due[place] for due in moments]) for place in (1, 0))
        return cuts, Answers(query, at, offsets, tops[0][:filled], tops[1][:filled])

    def _settle(self) -> None:
        """Empty the line and drop what no view needs, so that the state does not depend on when that happens."""
        if self._objects is not None:
            self._objects.canonicalize(self._scheduler.oldest_start(self._passed) if self._seen else TIME_MIN)
        elif self._seen:
            counts, oldest = self._band.counts, self._scheduler.oldest_start(self._passed)
            counts[kskyband_kernels.NOW] = max(int(counts[kskyband_kernels.NOW]), oldest)
            self._run(_NO_PANES, NO_ROWS, _NO_PANES, NO_MOMENTS, settles=True)

    def _held(self) -> dict[str, Array]:
        items = self._kept()
        return {name: items[item_field].copy() for name, item_field in _COLUMNS}

    def _kept(self) -> Array:
        self._settle()
        if self._objects is not None:
            return self._objects.items
        items: Array = self._band.items[: self._band.counts[kskyband_kernels.SIZE]]
        return items

    def _read_held(self, state: StateReader) -> dict[str, Array]:
        latest = self._last if self._seen else TIME_MIN - 1  # removed queries may have had later starts
        pane = state.column("pane", np.int64, at_most=latest)
        score = state.column("score", np.float64, len(pane), at_least=-np.inf, at_most=np.inf)
        identity = state.column("object", np.int64, len(pane))
        arrival = state.column("arrival", np.int64, len(pane), at_least=0, at_most=self._seen - 1)
        return {"pane": pane, "object": identity, "score": score, "arrival": arrival}

    def _hold(self, arrays: Mapping[str, Array]) -> None:
        items = np.empty(len(arrays["score"]), kskyband_kernels.ITEM)
        for name, item_field in _COLUMNS:
            items[item_field] = arrays[name]
        self._fill(items)

    def _keep(self, arrays: Mapping[str, Array], origin: Int64) -> Mapping[str, Array]:  # noqa: ARG002
        return arrays

    def __len__(self) -> int:
        return len(self._kept())

    @property
    def nbytes(self) -> int:
        if self._objects is not None:
            return self._objects.nbytes
        return sum(column.nbytes for column in (*self._band, *self._line))


MOST_ROOM = 1 << 20
"""The room for objects of answers that is made at once; beyond, it doubles. Unwritten memory costs nothing."""

_COLUMNS = (("pane", "expiry"), ("object", "tie"), ("score", "score"), ("arrival", "key"))
_NO_PANES = np.empty(0, np.int64)
