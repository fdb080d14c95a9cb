"""What an operator counts, from one look at it to the next, and the check that no row is lost in between."""

from collections import Counter
from collections.abc import Mapping

from attrs import define, field, frozen

from skyband.errors import EngineError


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


def check_sum(rows: int, accounted: int, where: str) -> None:
    """Raise EngineError unless so many rows came in as are accounted for; where: what had them, as a sentence has it.

    No row can bring that about, however bad it is: the program is at fault, and answers would be wrong without a word.
    So a run ends by it, before anything of the micro-batch is kept.
    """
    if rows == accounted:
        return
    difference = f"{rows - accounted:,} are lost" if accounted < rows else f"{accounted - rows:,} are counted twice"
    message = f"of {rows:,} rows that came in, {difference}: {where}"
    remedy = "a fault of Skyband or of a plugin, by which answers would be wrong: report it; what ended before is kept"
    raise EngineError(f"{message}; {remedy}")
