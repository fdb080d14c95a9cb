"""How heavy-hitters and row-features are plotted and shown, with a first query, and what row-features keeps."""

from collections.abc import Callable

import pyarrow as pa
from skyband.queries import emitted_states
from skyband.queries.composite_ids import columns_of
from skyband.queries.first_query import FirstQuery, SourceSample
from skyband.queries.presentation import QueryPresentation

from skyband_totals.heavy_hitters.earlier_tops import ENTRY, OBJECT
from skyband_totals.heavy_hitters.query import HeavyHitters
from skyband_totals.row_features.query import RowFeatures


class HeavyHittersPresentation(QueryPresentation[HeavyHitters]):
    """The ranks of objects."""

    chart = "ranks"

    @classmethod
    def first_query(cls, sample: SourceSample) -> FirstQuery | None:
        if not sample.labels:
            return None
        label, window = sample.labels[0], sample.window
        keys = {"object": label, "k": 10, "windows": [window], "every": window}
        return FirstQuery(f"the ten values of {label} with the most rows in each window of {window}", keys)

    def remembered_window(self, exact: bool) -> tuple[float, float, tuple[str, ...]] | None:
        """The totals of all objects."""
        query = self.query
        return (ENTRY, OBJECT * (1 if exact else 2), columns_of(query.object)) if query.remembers else None

    def readable(self, answers: pa.Table) -> pa.Table:
        """The answers, with sizes instead of states."""
        return emitted_states.summarised(answers) if self.query.gives_states else answers


class RowFeaturesPresentation(QueryPresentation[RowFeatures]):
    """The numbers of each row."""

    chart = "bands"

    def state_of_parts(self, first_rows: Callable[[], pa.Table | None]) -> list[str]:
        """The bytes of a key, of each of its rows and, with `emit`, of a state."""
        from skyband_totals.row_features.kept_bytes import kept_bytes  # on use: only `skyband check` asks

        rows = first_rows()
        return [] if not rows else kept_bytes(self.query, rows)

    def readable(self, answers: pa.Table) -> pa.Table:
        """The answers, with sizes instead of states."""
        return emitted_states.summarised(answers) if self.query.gives_states else answers
