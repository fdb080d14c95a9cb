"""How answers of detections are shown, and what its rules keep."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
from skyband.queries.presentation import QueryPresentation
from skyband_expressions.row_conditions import rows_that_meet

from skyband_detect.detections.counters import Counter, Needs
from skyband_detect.detections.query import Detections
from skyband_detect.role import DISTINCT, UNSEEN

_KEY_BYTES = 16
"""Of a key in a snapshot: its hash, and where its times end."""
_TIME_BYTES = 8
_VALUE_BYTES = 16
"""Of a distinct value or a number: its hash or units, and its time."""


class DetectionsPresentation(QueryPresentation[Detections]):
    """The number of answers over time, and the newest."""

    chart = "pairs"

    def state_of_parts(self, first_rows: Callable[[], pa.Table | None]) -> list[str]:
        """The bytes that each rule keeps of a key, and the keys among the first rows; one line for those that share."""
        rows = first_rows()
        if not rows:
            return []
        batch = rows.combine_chunks().to_batches()[0]
        return [self._line(counter, batch) for counter in self.query.counters.all if counter.rules]

    def _line(self, counter: Counter, batch: pa.RecordBatch) -> str:
        rules = [self.query.detections[place] for place in counter.rules]
        of = ("rule " if len(rules) == 1 else "rules ") + ", ".join(f'"{rule.name}"' for rule in rules)
        rows = pa.Table.from_batches([batch.filter(_mask(need, batch)) for need in counter.needs])
        keys = len(rows.group_by(list(counter.key)).aggregate([])) if counter.key else min(1, len(rows))
        last = " and its last row" if counter.falls else ""
        among = f"{keys:,} key{'' if keys == 1 else 's'} among the first {len(batch):,} rows"
        return f"{of}: {_bytes_of(counter)}{last}, {among}"


def _mask(need: Needs, batch: pa.RecordBatch) -> pa.Array:
    """bool[n]: the rows that meet a condition, without a null in the key and the values."""
    mask = pa.array([True] * len(batch)) if need.where is None else pa.array(rows_that_meet(need.where, batch) > 0)
    for name in (*need.key, *need.columns):
        mask = pc.and_(mask, batch.column(name).is_valid())
    return mask


def _bytes_of(counter: Counter) -> str:
    """What a counter keeps of a key, at most, in words."""
    if counter.is_number:
        return f"{_VALUE_BYTES} bytes a value of its window"
    if counter.steps is not None:
        steps = counter.steps.steps
        counting = sum(_counter_bytes(step.measure, step.at_least) for step in steps if step.at_least is not None)
        return f"at most {8 + 8 * len(steps) + counting:,} bytes a key"
    return f"at most {_counter_bytes(counter.measure, counter.most):,} bytes a key"


def _counter_bytes(measure: str, most: int) -> int:
    if measure == UNSEEN:
        return _KEY_BYTES
    return _KEY_BYTES + (_VALUE_BYTES if measure.startswith(DISTINCT) else _TIME_BYTES) * (most + 1)
