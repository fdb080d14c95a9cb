"""What an operator counts, from one look at it to the next."""

from collections import Counter
from collections.abc import Mapping

from attrs import define, field, frozen


@frozen
class Metrics:
    """What an operator has done since its metrics were last taken, and what it holds now."""

    rows_in: int
    """Rows of the source, whatever became of them."""
    rows_late: int
    late_by: int
    """Microseconds (or rows) that `delay` would have had to be for all of them, as far as they came now; 0 of none."""
    dropped: Mapping[str, int]
    """Rows that no answer can come from, or no whole one, by reason: one of the query's `drop_reasons`."""
    retained: int
    groups: int
    seconds: float


@define(eq=False)
class Counters:
    """The counts of `Metrics`, while they grow."""

    rows_in: int = 0
    rows_late: int = 0
    late_by: int = 0
    released: int = 0
    """Rows that groups were given."""
    dropped: Counter[str] = field(factory=Counter)
    seconds: float = 0.0

    def metrics(self, retained: int, groups: int) -> Metrics:
        """What was counted, beside what is held."""
        dropped = {reason: count for reason, count in self.dropped.items() if count}
        return Metrics(self.rows_in, self.rows_late, self.late_by, dropped, retained, groups, self.seconds)
