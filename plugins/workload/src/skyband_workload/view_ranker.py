"""The base of MTopBand and MTopList: a ranker whose executor's rows are the union of the views' tops."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from attrs import define, field
from skyband.arrays import Array, Int64
from skyband.state_validation import StateReader

from skyband_workload.analyser import MetaQuery
from skyband_workload.executor import ViewExecutor
from skyband_workload.extractor import Found
from skyband_workload.ranker import MetaRanker
from skyband_workload.scheduler import Moments, Scheduler
from skyband_workload.table import Rows, read_rows
from skyband_workload.views import MOST_WINDOWS


@define(eq=False)
class ViewRanker(MetaRanker):
    """Delegates to its executor."""

    minimal: ClassVar[bool] = True
    most_windows: ClassVar[int | None] = MOST_WINDOWS

    _executor: ViewExecutor = field(init=False)

    @abstractmethod
    def _executor_for(self, scheduler: Scheduler) -> ViewExecutor:
        """An empty executor."""

    def _begin(self, meta: MetaQuery) -> None:
        super()._begin(meta)
        self._executor = self._executor_for(self._scheduler)

    def _execute(self, rows: Rows, moments: Moments) -> Found:
        return self._executor.execute(rows, moments, self._passed)

    def _held(self) -> dict[str, Array]:
        return self._executor.rows()._asdict()

    def _read_held(self, state: StateReader) -> dict[str, Array]:
        return read_rows(state, self._seen, self._last)

    def _hold(self, arrays: Mapping[str, Array]) -> None:
        self._executor.load(Rows(*(arrays[name] for name in Rows._fields)), self._passed, self._last)

    def _keep(self, arrays: Mapping[str, Array], origin: Int64) -> Mapping[str, Array]:  # noqa: ARG002
        return arrays

    def __len__(self) -> int:
        return len(self._executor)

    @property
    def nbytes(self) -> int:
        return self._executor.nbytes
