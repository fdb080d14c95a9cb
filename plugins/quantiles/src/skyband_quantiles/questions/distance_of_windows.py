"""How far apart the values of two windows are, from two states of sketches that bound each rank for certain."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.config.literals import literal
from skyband.config.parameters import checked, choice
from skyband.errors import InputError
from skyband.states.question import Question
from skyband.states.state import State

from skyband_quantiles.buckets import reading
from skyband_quantiles.distances import Bounds, kolmogorov_smirnov, population_stability, steps_of, wasserstein
from skyband_quantiles.ranks import BILLION
from skyband_quantiles.sketch_parameters import as_numbers, checked_list, fault_of_limit

_DECILES = np.arange(1, 10) * (BILLION // 10)
MOST_BINS = 1000


class Distance(NamedTuple):
    """How far apart two windows are: the likely value with bounds, None if there is none, and the rows of each.

    A window without rows has no distance. Neither has one with an infinite value, for Wasserstein.
    """

    value: float | None
    low: float | None
    high: float | None
    rows: int
    against_rows: int


def _fault_of_bins(bins: Any) -> Any:
    wrong = checked_list(fault_of_limit, "[0.2, 0.5]", MOST_BINS)(bins)
    if wrong:
        return wrong
    ascending = all(lower < upper for lower, upper in pairwise(bins))
    return None if ascending else f"must be ascending (got {literal(list(bins))})"


@define
class DistanceOfWindows(Question):
    """How far apart the values of two windows are, such as those of today and of a week ago.

    ks is the largest difference of the two distribution functions, as scipy.stats.ks_2samp's statistic; wasserstein the
    area between them, in the unit of the values; psi the population stability index over bins, where half a row is
    added to each, so that empty bins have a finite index. Low and high are certain: an alarm on `low` is never false.
    They are equal for states of quantile-sketch/exact.
    """

    name: ClassVar[str] = "distance"
    result: ClassVar[pa.DataType] = pa.struct(
        [
            *((name, pa.float64()) for name in ("value", "low", "high")),
            ("rows", pa.int64()),
            ("against_rows", pa.int64()),
        ]
    )
    of_pairs: ClassVar[bool] = True
    returns: ClassVar[str] = (
        "Distance\n    value, low, high, rows and against_rows; the first three are None if a window has no rows"
    )
    exports: ClassVar[tuple[str, ...]] = ("Distance",)

    of: str = choice("ks", "wasserstein", "psi", default="ks", help="which distance")
    bins: tuple[float, ...] = checked(
        (), type="list", check=_fault_of_bins, converter=as_numbers, bounds=f"ascending, at most {MOST_BINS}",
        help="for psi, the upper ends of all bins but the last; empty: the deciles of the right state",
    )  # fmt: skip

    def answer(self, states: Sequence[State], since: Sequence[int]) -> Distance:
        if self.bins and self.of != "psi":
            raise InputError("bins", f"belongs to of = 'psi': drop it (got of = {self.of!r})")
        reader: Any = type(states[0].reader)
        windows = [reader.read_windows([state.reader], [at]) for state, at in zip(states, since, strict=True)]
        rows = windows[0].rows, windows[1].rows
        if not all(window.sure + window.maybe for window in windows):
            return Distance(None, None, None, *rows)
        steps, against = (steps_of(window, state.reader.cuts) for window, state in zip(windows, states, strict=True))
        bounds: Bounds | None
        if self.of == "psi":
            ends = np.array(self.bins) if self.bins else np.unique(reading.quantiles(windows[1], _DECILES)[:, 0])
            bounds = population_stability(steps, against, ends)
        else:
            bounds = (kolmogorov_smirnov if self.of == "ks" else wasserstein)(steps, against)
        return Distance(None, None, None, *rows) if bounds is None else Distance(*bounds, *rows)
