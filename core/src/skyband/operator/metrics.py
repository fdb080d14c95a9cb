"""What an operator counts between two calls, and the check that no row is lost."""

from collections import Counter
from collections.abc import Mapping

from attrs import define, field, frozen

from skyband.errors import EngineError


@frozen
class Metrics:
    """What an operator has done since its metrics were last taken, and what it holds now."""

    rows_in: int
    """Rows of the source, whatever happened to them."""
    rows_late: int
    late_by: int
    """Microseconds (or rows) that `delay` would have needed for the late rows of this time; 0 without any."""
    dropped: Mapping[str, int]
    """Rows that give no answer, or no whole one, by reason: one of the query's `drop_reasons`."""
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
    """Rows passed to groups."""
    dropped: Counter[str] = field(factory=Counter)
    seconds: float = 0.0

    def metrics(self, retained: int, groups: int) -> Metrics:
        """The metrics of these counts, and of what is held."""
        dropped = {reason: count for reason, count in self.dropped.items() if count}
        return Metrics(self.rows_in, self.rows_late, self.late_by, dropped, retained, groups, self.seconds)


def check_sum(rows: int, accounted: int, where: str) -> None:
    """Raise EngineError unless all rows are accounted for; where: who had them, for the message.

    No row can cause this, however bad it is: it is a bug in the program, which would give wrong answers silently. So it
    ends the run before anything of the micro-batch is committed.
    """
    if rows == accounted:
        return
    difference = f"{rows - accounted:,} are lost" if accounted < rows else f"{accounted - rows:,} are counted twice"
    message = f"of {rows:,} rows that came in, {difference}: {where}"
    remedy = "a bug in Skyband or a plugin, which would make answers wrong: report it; earlier micro-batches are kept"
    raise EngineError(f"{message}; {remedy}")
