"""One group's stream of a query heavy-hitters that ranks by the part of a total that meets a condition."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband.groups import state_arrays
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.groups.processor import GroupProcessor
from skyband.registry import Binding

from skyband_totals.heavy_hitters.parts import Parts, part_columns, parts_of
from skyband_totals.heavy_hitters.processor import TotalsProcessor
from skyband_totals.role import TotalRanker
from skyband_totals.top import Tops

if TYPE_CHECKING:
    from skyband_totals.heavy_hitters.query import HeavyHitters


class PartProcessor(TotalsProcessor):
    """Has a ranker of all rows and one of those that meet the condition, and divides their answers.

    Where windows are in rows, whose numbers have no gaps, the others weigh 0 in the second one.
    """

    _tops_alone = False

    def __init__(self, query: "HeavyHitters", ranker: Binding, answers: pa.Schema) -> None:
        self._weighs = query.rows
        unit = query.unit if query.total == "sum" else 1.0
        limits = {"k": None, "share": None, "at_least": unit}
        weighed = {"total": "sum", "unit": unit} if self._weighs else {}
        self._parameters_of_some = {**query.backend_parameters("total-ranker"), **limits, **weighed}
        shard = answers.names[-1] == "grand_high"
        self._k = None if shard and query.share is not None else query.k  # that of all rows may leave others in
        super().__init__(query, ranker, answers)

    def begin(self) -> None:
        super().begin()
        self._some = cast(TotalRanker, self._binding.create(**self._parameters_of_some))
        self._parts: Parts | None = None

    @property
    def _rankers(self) -> tuple[TotalRanker, ...]:
        return self._ranker, self._some

    def _be_finer(self) -> None:
        super()._be_finer()
        if self._finer:
            finer = {**self._parameters_of_some, "every": self._ranker.every}
            self._some = cast(TotalRanker, self._binding.create(**finer))

    def _answered(self, times: Int64, columns: dict[str, Array], due: Int64) -> ProcessorAnswers | None:
        self._look_at(times)
        meets = columns.pop("meets") != 0
        whole = self._tops(self._ranker, times, columns, due)
        if self._weighs:
            weights = columns.get("weight", np.ones(len(times)))
            those = {"object": columns["object"], "weight": np.where(meets, weights, 0.0)}
            some = self._tops(self._some, times, those, due)
        else:
            those = {name: column[meets] for name, column in columns.items()}
            some = self._tops(self._some, times[meets], those, due)
        if not len(due):
            return None
        self._parts = parts_of(whole, some, self._k, self._unit)
        return self._answers(due, self._parts.whole)

    def _numbers(self, tops: Tops) -> list[Array | pa.Array]:  # noqa: ARG002 - they are the parts' own
        assert self._parts is not None
        return list[Array | pa.Array](part_columns(self._parts))

    def merge(self, other: GroupProcessor) -> None:
        super().merge(other)
        theirs = cast(PartProcessor, other)
        if theirs._some.every != self._some.every and not len(self._some):
            self._some = cast(
                TotalRanker, self._binding.create(**{**self._parameters_of_some, "every": self._ranker.every})
            )
        self._some.merge(theirs._some)

    @property
    def retained(self) -> int:
        return super().retained + len(self._some)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._some.nbytes

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        header, arrays = super().dump_state()
        return header, arrays | state_arrays.with_prefix("part", self._some.dump_state())

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        super().load_state(header, arrays)
        self._some.load_state(state_arrays.without_prefix("part", arrays))
