"""How the answers of quantiles are compared, plotted and shown."""

import pyarrow as pa
from skyband.queries.first_query import FirstQuery, SourceSample
from skyband.queries.presentation import QueryPresentation

from skyband_quantiles.quantiles.earlier_windows import ENTRY
from skyband_quantiles.quantiles.query import ROLE, Quantiles

_VALUE = 9
"""The bytes of a different value."""
_STEPS = 2_048
"""The bytes of intervals, at most."""


class QuantilesPresentation(QueryPresentation[Quantiles]):
    """Numbers of any unit, with bounds."""

    chart = "skyband_quantiles.quantiles.drawing:draw"
    compared_value = "value"
    compared_scale = "own"

    @classmethod
    def first_query(cls, sample: SourceSample) -> FirstQuery | None:
        if not sample.numbers:
            return None
        value, window = sample.numbers[0], sample.window
        keys = {"value": value, "at": [0.5, 0.95, 0.99], "windows": [window], "every": window}
        return FirstQuery(f"the median and high percentiles of {value} in each window of {window}", keys)

    def remembered_window(self, exact: bool) -> tuple[float, float, tuple[str, ...]] | None:
        """Its answers; for distances also its values, or at most 512 intervals of them."""
        query = self.query
        if query.against is None:
            return None
        deciles = query.bins - 1 if isinstance(query.bins, int) else 0
        answers = ENTRY + 8 * (3 * (len(query.at) + len(query.above)) + deciles)
        if not query.distance:
            return answers, 0, ()
        return (answers, _VALUE, (query.value,)) if exact else (answers + _STEPS, 0, ())

    def readable(self, answers: pa.Table) -> pa.Table:
        """The answers, with sizes instead of states."""
        if not self.query.gives_states:
            return answers
        texts = [f"{ROLE}, {len(state.as_buffer()):,} bytes" for state in answers.column("state")]
        place = answers.column_names.index("state")
        return answers.set_column(place, "state", pa.array(texts, pa.string()))
