"""object-ranker/eaa: early aggregation, the default. It keeps exactly the k-dominance set, found by lazy sweeps."""

from typing import ClassVar

from attrs import define

from skyband_incomplete.eaa_arrays import INSTANCES
from skyband_incomplete.early_aggregation import ALWAYS, InstanceRanker


@define(eq=False)
class EarlyAggregation(InstanceRanker):
    """Drops a report once k objects are certain to outrank its object while it counts. The default.

    An instance is an object after its older reports have expired. It is kept while fewer than k instances that live
    longer are certain to score at least as much. To be certain, a stream that an object has not reported counts as
    `upper`; one that it has reported counts as what the promise `repeats` leaves open, nothing for "never". A dropped
    instance cannot be in any later answer.

    If `repeats` is "latest", "largest", "smallest" or "mean", a score may fall with the next report, so no instance can
    be dropped. Then it keeps every report that can still become the value of a stream: for "latest" one per object and
    stream, for "largest" and "smallest" those that no later report reaches, for "mean" all valid ones.

    A function as `aggregate` is called in Python, twice for each retained report in each sweep. All other aggregates
    are compiled.

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

    Complexity
    ----------
    `update` costs O(1) per row, `top` O(retained · (streams + log k)). Memory is O(retained) reports, and a little more
    than 8 + 4 · streams bytes for each object with a valid report. `len` counts instances. If `repeats` is "latest",
    "largest", "smallest" or "mean", `top` costs O(changed objects · streams + k log k) and a scan of the objects that
    rank before a bar: k + 64 or a few times that, or all if too few are left; `len` counts reports.

    References
    ----------
    Haghani, Michel and Aberer, Evaluating top-k queries over incomplete data streams, CIKM 2009, section 3.2 (EAA). The
    paper's rules for equal times and repeated reports are corrected, and dominance is found by a sweep over all
    reports instead of by counters.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("object-ranker", "eaa", k=2, window=10, streams=2)
    >>> ranker.update(times=[1, 2, 3], streams=[0, 1, 0], objects=[7, 7, 8], values=[0.5, 0.25, 0.625])
    >>> objects, scores = ranker.top()
    >>> objects.tolist(), scores.tolist()
    ([7, 8], [0.75, 0.625])
    """

    name: ClassVar[str] = "eaa"

    def __len__(self) -> int:
        first = self._oldest(self._now)
        if self._live is not None:
            return self._live.retained(first)
        self._relieve(first)
        return int(self._cursor[INSTANCES])

    @property
    def _thrift(self) -> float:
        return 0.5

    def _relieve(self, first: int) -> None:
        self._sweep(first, ALWAYS)
