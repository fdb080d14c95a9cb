"""Processes one group's stream of a heavy-hitters query with `part`."""

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
    """Has a ranker of all rows and one of the rows that meet the condition, and divides their answers.

    If windows are in rows, whose numbers have no gaps, the other rows weigh 0 in the second ranker.
    """

    _tops_alone = False

    def __init__(self, query: "HeavyHitters", ranker: Binding, answers: pa.Schema) -> None:
        self._weighs = query.rows
        unit = query.unit if query.total == "sum" else 1.0
        limits = {"k": None, "share": None, "at_least": unit}
        weighed = {"total": "sum", "unit": unit} if self._weighs else {}
        self._part_parameters = {**query.backend_parameters("total-ranker"), **limits, **weighed}
        shard = answers.names[-1] == "grand_high"
        self._k = None if shard and query.share is not None else query.k  # the share of all rows may exclude some
        super().__init__(query, ranker, answers)

    def begin(self) -> None:
        super().begin()
        self._part_ranker = cast(TotalRanker, self._binding.create(**self._part_parameters))
        self._parts: Parts | None = None

    @property
    def _rankers(self) -> tuple[TotalRanker, ...]:
        return self._backend, self._part_ranker

    def _be_finer(self) -> None:
        super()._be_finer()
        if self._finer:
            self._make_part_ranker_finer()

    def _make_part_ranker_finer(self) -> None:
        finer = {**self._part_parameters, "every": self._backend.every}
        self._part_ranker = cast(TotalRanker, self._binding.create(**finer))

    def _answered(self, times: Int64, columns: dict[str, Array], due: Int64) -> ProcessorAnswers | None:
        self._be_finer_if_needed(times)
        meets = columns.pop("meets") != 0
        whole = self._tops(self._backend, times, columns, due)
        if self._weighs:
            weights = columns.get("weight", np.ones(len(times)))
            matching = {"object": columns["object"], "weight": np.where(meets, weights, 0.0)}
            part = self._tops(self._part_ranker, times, matching, due)
        else:
            matching = {name: column[meets] for name, column in columns.items()}
            part = self._tops(self._part_ranker, times[meets], matching, due)
        if not len(due):
            return None
        self._parts = parts_of(whole, part, self._k, self._unit)
        return self._answers(due, self._parts.whole)

    def _numbers(self, tops: Tops) -> list[Array | pa.Array]:  # noqa: ARG002 - they are the parts' own
        assert self._parts is not None
        return list[Array | pa.Array](part_columns(self._parts))

    def merge(self, other: GroupProcessor) -> None:
        super().merge(other)
        other = cast(PartProcessor, other)
        if other._part_ranker.every != self._part_ranker.every and not len(self._part_ranker):
            self._make_part_ranker_finer()
        self._part_ranker.merge(other._part_ranker)

    @property
    def retained(self) -> int:
        return super().retained + len(self._part_ranker)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._part_ranker.nbytes

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        header, arrays = super().dump_state()
        return header, arrays | state_arrays.with_prefix("part", self._part_ranker.dump_state())

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        super().load_state(header, arrays)
        self._part_ranker.load_state(state_arrays.without_prefix("part", arrays))
