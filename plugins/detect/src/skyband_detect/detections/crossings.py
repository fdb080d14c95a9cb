"""The rows of a batch that bring a key to a bound, asked of the counter of its rules."""

from collections.abc import Sequence

import numpy as np
from skyband.arrays import Int64, UInt64

from skyband_detect.detections.alerts import Alerts
from skyband_detect.detections.asks import Asks
from skyband_detect.detections.batch_entries import Entries
from skyband_detect.detections.counter_state import CounterState
from skyband_detect.detections.counters import Counter
from skyband_detect.detections.units import worth
from skyband_detect.role import NO_FALLS, NO_LIMIT, Bounds, Falls
from skyband_detect.total_role import MEAN, QUANTILE

SECOND = 1_000_000
"""In the unit of times."""


def crossings_of(
    counter: Counter, asks: Asks, state: CounterState, times: Int64, keys: UInt64, entries: Sequence[Entries],
    unit: float,
) -> tuple[Alerts, Falls]:  # fmt: skip
    """Add rows to a counter; returns those that bring a key to a bound, and the keys that these rows show to fall.

    times, keys: int64[n], uint64[n] of all rows of the batch. entries: what the counter, or each step of its sequences,
    counts of them. unit: of sums and means.
    """
    if counter.steps is not None:
        inside, values = [one.rows for one in entries], [one.values for one in entries]
        complete = state.backend.update(times, keys, inside, values, Bounds(**asks.limits))
        return Alerts(complete.rows, asks.reached[complete.asks], *[complete.lengths / SECOND] * 3), NO_FALLS
    (own,) = entries
    of_rows = times[own.rows], keys[own.rows], own.values
    if counter.is_number:
        reached = state.backend.update(*of_rows, **asks.limits)
        value = reached.value if counter.kind == QUANTILE else worth(reached.value, unit)
        value = value / reached.sizes if counter.kind == MEAN else value
        return Alerts(own.rows[reached.rows], asks.reached[reached.asks], *[value] * 3), NO_FALLS
    falling = {"fall_windows": asks.below.windows, "below": asks.below.bounds}
    crossings = state.backend.update(*of_rows, **asks.limits, **falling)
    high = np.where(crossings.high == NO_LIMIT, np.nan, crossings.high)
    numbers = crossings.value, crossings.low, high
    return Alerts(own.rows[crossings.rows], asks.reached[crossings.asks], *numbers), crossings.falls
