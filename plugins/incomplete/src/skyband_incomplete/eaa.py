"""object-ranker/eaa: early aggregation, the default. Keeps exactly the k-dominance set, found by lazy sweeps."""

from typing import ClassVar

from attrs import define

from skyband_incomplete.early_aggregation import ALWAYS, InstanceRanker
from skyband_incomplete.instance_arrays import INSTANCES


@define(eq=False)
class EarlyAggregation(InstanceRanker):
    """Keeps the instances of objects that fewer than k others dominate for the rest of their life (EAA).

    An instance is what an object will be once its older reports have expired. What it can still reach counts a
    stream it has not reported at `upper`; one it has reported already at 0 under `repeats="never"`, otherwise at what
    the promise leaves open. Dominance lasts, so letting go of an instance is safe whenever it is done, and a sweep
    from the newest report to the oldest finds the doomed instances and the top k together.

    Under `repeats` = "latest", "largest", "smallest" or "mean" a score may fall with the next report, so no dominance
    lasts. Kept is what can still become a stream's value: for "latest" one report an object and stream, for "largest"
    and "smallest" those that no later one reaches, for "mean" all valid ones.

    Parameters: see `ObjectRanker`. A function as `aggregate` is called twice a retained report and sweep, in Python;
    all other aggregates are compiled.

    `update` is O(1) a row, `top` O(retained · (streams + log k)), memory O(retained) reports and one entry of
    8 + 4 · streams bytes and some more for each object with a valid report. `len` counts instances. Under a reduction
    `top` is O(objects + changed objects · streams + k log k), and for "mean" their reports; `len` counts reports.

    Source: Haghani, Michel, Aberer: Evaluating Top-k Queries over Incomplete Data Streams (CIKM 2009), section 3.2,
    with the rule for equal times and for re-observation put right, and dominance found by sweeping instead of counters.
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
