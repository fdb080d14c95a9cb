"""One group's stream of a query quantiles: passes rows to a sketch, and turns its answers into rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64
from skyband.columns.gaps_in_row_numbers import without_gaps
from skyband.columns.rows import Rows
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns, ProcessorAnswers, RawAnswers
from skyband.groups.batched_processor import BatchedProcessor
from skyband.groups.plain_turns import AnswersOfTurns
from skyband.groups.processor import BackendProcessor
from skyband.registry import Binding
from skyband.windows.window_parameters import of_calendar

from skyband_quantiles.role import QuantileSketch
from skyband_quantiles.sketch_answers import Answers

if TYPE_CHECKING:
    from skyband_quantiles.quantiles.query import Quantiles

_ROLE = "quantile-sketch"
_NO_WINDOWS = np.empty(0, np.int64)


class QuantilesProcessor(BackendProcessor, BatchedProcessor):
    """Answers all quantiles and shares of all windows at each moment from a single sketch."""

    _backend: QuantileSketch

    no_rows = Rows(np.empty(0, np.int64), {"value": np.empty(0)})

    def __init__(self, query: "Quantiles", sketch: Binding, answers: pa.Schema) -> None:
        self._binding = sketch
        self._parameters = query.backend_parameters(_ROLE)
        self._calendar = of_calendar(query.every, *query.windows)
        self._windows = np.array([] if self._calendar else [window.length for window in query.windows], np.int64)
        self._at, self._above = query.at, query.above
        self._labels = labels_of(query)
        self._schema = answers
        schedule = query.schedule
        super().__init__(query.every.length, schedule.horizon, query.rows, schedule)

    def begin(self) -> None:
        self._backend = cast(QuantileSketch, self._binding.create(**self._parameters))

    def begin_with(self, last: int, rows: Rows) -> "QuantilesProcessor":
        """Continue from the rows of a small group; moments up to `last`, its last row's time, are answered."""
        if self._rows:
            rows, _ = without_gaps(rows)
            self._backend.advance(int(rows.times[0]))
            self._backend.update(rows.times, rows["value"])
            self._backend.advance(last + 1)
        else:
            self._backend.update(*self._in_order(rows.times, rows["value"]))
        self.resume_after(last)
        return self

    def begin_with_state(self, state: Any, arrays: Mapping[str, Array], at: int) -> None:
        self._backend.load_state(arrays)
        self.resume_at(at, state.latest)

    @property
    def columns_suffice(self) -> bool:
        return not self._calendar and self.needs_answers

    def backend_columns(self, times: Int64, rows: Rows) -> Sequence[Array]:
        return times, rows["value"]

    def feed(self, times: Int64, rows: Rows, due: Int64) -> ProcessorAnswers | None:
        if self.columns_suffice:
            return self.feed_columns((times, rows["value"]), due)
        times, values = self._in_order(times, rows["value"])
        if not self.needs_answers:  # time passes as with answers
            self._backend.answers(times, values, moments=due, windows=_NO_WINDOWS, at=(), above=())
            return None
        answers = self._since_starts(times, values, due)
        return self._answers(due, answers) if len(due) else None

    def feed_columns(self, columns: Sequence[Array], due: Int64) -> ProcessorAnswers | None:
        times, values = self._in_order(*columns)
        answers = self._backend.answers(
            times, values, moments=due, windows=self._windows, at=self._at, above=self._above
        )
        return self._answers(due, answers) if len(due) else None

    @classmethod
    def feed_together(
        cls, processors: Sequence[Self], rows: Rows, columns: Sequence[Array], spans: Int64, due: Sequence[Int64]
    ) -> AnswersOfTurns:
        del rows
        first, (times, values) = processors[0], columns
        begins = np.zeros(len(times) + 1, bool)
        begins[spans] = True
        answers = type(first._backend).answers_together(
            [own._backend for own in processors], *first._in_order(times, values, begins), spans=spans, moments=due,
            windows=first._windows, at=first._at, above=first._above,
        )  # fmt: skip
        together = first._answers(np.concatenate(due), answers)
        each = np.append(0, np.cumsum(np.count_nonzero(answers.rows, axis=1))) * (len(first._at) + len(first._above))
        ends = each[np.cumsum([0, *map(len, due)])]
        return AnswersOfTurns([together] if len(together) else [], np.diff(ends).tolist())

    def _answers(self, due: Int64, answers: Answers) -> RawAnswers:
        count = int(np.count_nonzero(answers.rows)) * (len(self._at) + len(self._above))
        return RawAnswers(self._schema, _columns_of, (due, answers, len(self._labels)), count, self._labels)

    def _since_starts(self, times: Int64, values: Float64, due: Int64) -> Answers:
        """The answers over windows of varying length, moment by moment."""
        windows = len(self._labels["window"])
        answers = Answers.room(len(due), windows, len(self._at), len(self._above))
        for number, at in enumerate(self._moments(times, values, due)):
            for place, since in enumerate(self._schedule.starts(at)):
                answers.rows[number, place] = int(self._backend.count(since)[0])
                if answers.rows[number, place]:
                    answers.values[number, place] = self._backend.quantiles(since, self._at)
                    answers.shares[number, place] = self._backend.shares(since, self._above)
        return answers

    def _moments(self, times: Int64, values: Float64, due: Int64) -> Iterator[int]:
        """Feed the sketch up to each moment, yield that, and finally feed the rest."""
        start = 0
        stops = np.searchsorted(times, due).tolist()
        for at, stop in zip([*due.tolist(), None], [*stops, len(times)], strict=True):
            if stop > start:
                self._backend.update(times[start:stop], values[start:stop])
                start = stop
            if at is not None:
                self._backend.advance(at)
                yield at

    def _in_order(self, times: Int64, values: Float64, begins: Array | None = None) -> tuple[Int64, Float64]:
        """The rows, with those of one time sorted by value if the sketch's answers depend on their order.

        All rows of a time arrive together, because they wait for the watermark. begins: bool[n + 1], whether a group
        starts or ends there, if the rows belong to several.
        """
        if not self._backend.order_matters or self._rows:
            return times, values
        same = times[1:] == times[:-1]
        if begins is not None:
            same &= ~begins[1:-1]
        if same.any():
            tied = np.flatnonzero(np.append(False, same) | np.append(same, False))
            runs = np.cumsum(np.append(True, ~same))[tied]
            values = values.copy()
            values[tied] = values[tied][np.lexsort((values[tied], runs))]
        return times, values

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"clock": self.clock()}, state_arrays.with_prefix("sketch", self._backend.dump_state())

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.set_clock(header["clock"])
        self._backend.load_state(state_arrays.without_prefix("sketch", arrays))


def labels_of(query: "Quantiles") -> dict[str, pa.Array]:
    """The label columns of answers: windows, and all quantiles, limits and distances by index, null for other kinds."""
    none_at, none_above, none_apart = ([None] * len(kind) for kind in (query.at, query.above, query.distance))
    named = {
        "window": pa.array([str(window) for window in query.windows], pa.string()),
        "quantile": pa.array([*query.at, *none_above, *none_apart], pa.float64()),
        "above": pa.array([*none_at, *query.above, *none_apart], pa.float64()),
        "distance": pa.array([*none_at, *none_above, *query.distance], pa.string()),
    }
    return {name: values for name, values in named.items() if name == "window" or name in query.asked}


def answer_columns(
    schema: pa.Schema, labels: Mapping[str, pa.Array], at_moments: Int64, answers: Answers, rules: Int64 | None = None
) -> AnswerColumns:
    """Answers as rows. rules: int64[m], the index of each moment's rule, which has a single window."""
    return AnswerColumns(schema, _columns(at_moments, answers, len(labels), rules), labels)


def _columns_of(answers: Sequence[Sequence[Any]]) -> list[Array]:
    """The columns of answers of many groups at once: for each the moments, the answers and the number of labels."""
    moments, results, labels = zip(*answers, strict=True)
    return _columns(np.concatenate(moments), Answers.joined(results), labels[0])


def _columns(at_moments: Int64, answers: Answers, labels: int, rules: Int64 | None = None) -> list[Array]:
    """Rows by moment, window, then quantiles and limits as in the query; none for a window without rows."""
    values = np.concatenate([answers.values, answers.shares], axis=2)
    moment, window = np.nonzero(answers.rows)
    each = values.shape[2]
    numbers = values[moment, window].reshape(-1, 3)
    places = np.tile(np.arange(each), len(moment))
    named = [window] if rules is None else [rules[moment]] * 2
    columns = [np.repeat(at_moments[moment], each), *(np.repeat(name, each) for name in named)]
    columns += [places] * (labels - len(named))
    columns += [numbers[:, 0], numbers[:, 1], numbers[:, 2], np.repeat(answers.rows[moment, window], each)]
    return columns
