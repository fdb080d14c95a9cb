"""FeaturesReader: the rows of one group in a state of row-features, and the features of any later moment."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from threading import get_ident
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from skyband import snapshot
from skyband.arrays import Array
from skyband.roles.answering_reader import AnsweringReader
from skyband.state_validation import StateReader

if TYPE_CHECKING:
    from skyband_totals.row_features.window_values import WindowValues


class FeaturesReader(AnsweringReader):
    """Answers from the rows of one or several states as row-features does."""

    questions: ClassVar[Sequence[str]] = ("skyband_totals.questions.features_now:FeaturesNow",)

    def __init__(self, parameters: Mapping[str, Any], state: Mapping[str, Array]) -> None:
        from skyband_totals.row_features import rows_in_states  # on use, as they load numba and Arrow's kernels
        from skyband_totals.row_features.state_parameters import read_parameters

        self.query, layout = read_parameters(parameters)
        self._text = snapshot.text(dict(parameters))
        reader = StateReader(state)
        self._floor = reader.number("since")
        self._times, self._columns = rows_in_states.from_arrays(reader, layout.columns)
        early = len(self._times) and self._times[0] < self._floor
        reader.require(not early, "start", f"must be at least {self._floor}")

    @property
    def latest(self) -> int | None:
        return int(self._times[-1]) if len(self._times) else None

    @property
    def floor(self) -> int:
        return self._floor

    @property
    def retained(self) -> int:
        return len(self._times)

    @classmethod
    def features(cls, readers: Sequence["FeaturesReader"], now: int) -> dict[str, Any]:
        """The value of each column of features, over the rows of all of these states in [now - window, now).

        now: not before the latest row. O(n) for n rows, with O(n log n) for several states and for ordered values.
        """
        first = readers[0]
        rows = {"time": first._times, **first._columns}
        if len(readers) > 1:
            from skyband.columns import column_ops

            pieces = [{"time": each._times, **each._columns} for each in readers]
            order = np.argsort(np.concatenate([piece["time"] for piece in pieces]), kind="stable")
            rows = {name: column_ops.pick(column_ops.joined([one[name] for one in pieces]), order) for name in rows}
        values = _values(first._text, get_ident()).just_before(rows, now)
        names = [name for name, _ in first.query.named_columns]
        return {name: column[0].as_py() for name, column in zip(names, values, strict=True)}


@lru_cache(maxsize=64)
def _values(text: str, _thread: int) -> "WindowValues":
    """Those of each thread, as an aggregate is used by one at a time."""
    from skyband_totals.row_features.state_parameters import read_parameters
    from skyband_totals.row_features.window_values import WindowValues

    return WindowValues(*read_parameters(json.loads(text)))
