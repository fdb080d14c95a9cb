"""Small groups of top-k: the reports of each group's window that can still count."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64, read_only
from skyband.columns.integer_ids import integers_of, is_integer_id
from skyband.columns.row_codes import place_among_equal, row_codes
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import Which
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.table import PassInput, PassResult, SmallGroupTable
from skyband.queries.time_columns import moments
from skyband.roles.object_ranker import REDUCTIONS
from skyband.state_validation import StateReader
from skyband.windows.half_lives import powers_of_two
from skyband.windows.schedule import Schedule

from skyband_incomplete.aggregates import finite
from skyband_incomplete.score_kernels import BY_MAX, BY_MIN, BY_SUM
from skyband_incomplete.top_k.small_group_ranking import BY_CALL
from skyband_incomplete.top_k.small_group_reports import NEVER, SUM
from skyband_incomplete.top_k.small_groups_kernels import rank_objects

_MOST_KNOWN = 1 << 16


class CalledScores:
    """The scores by a function of an object's values (float64[streams]), called once for equal values.

    The scores of the last call are cached, as most objects keep their values; older ones while they are few.
    """

    def __init__(self, score: Callable[[Float64], float], streams: int) -> None:
        self._score = finite(score)
        self._vectors, self._scores = np.empty((0, streams)), np.empty(0)

    def evaluate(self, vectors: Float64) -> Float64:
        """float64[n]: the scores of values, float64[n, streams]. O(n log n), and a call for each new vector."""
        count, both = len(self._vectors), np.concatenate([self._vectors, vectors])
        codes = row_codes(list(both.T))
        first, scores = np.empty(codes.max(initial=-1) + 1, np.int64), np.empty(codes.max(initial=-1) + 1)
        first[codes[::-1]] = np.arange(len(both))[::-1]
        scores[codes[:count]] = self._scores
        new = first >= count
        scores[new] = [self._score(row) for row in both[first[new]]]
        stays = np.full(len(first), len(first) <= _MOST_KNOWN)
        stays[codes[count:]] = True
        self._vectors, self._scores = both[first[stays]], scores[stays]
        fresh: Float64 = scores[codes[count:]]
        return fresh

    def best(
        self, stretch: Int64, moment: Int64, objects: Int64, vectors: Float64, k: int
    ) -> tuple[Int64, Int64, Float64]:
        """The k best rows of each answer (a moment of a session): their places, ranks from 1 and scores.

        All int64[n], with the rows of an answer contiguous.
        """
        scores = self.evaluate(vectors)
        order = np.lexsort((objects, -scores, moment, stretch))
        ranks = 1 + place_among_equal(row_codes([stretch[order], moment[order]]))
        best = ranks <= k
        return order[best], ranks[best], scores[order[best]]


def never_rises(parameters: Mapping[str, Any], half_life: int) -> bool:
    """Whether the score of an object without negative values never rises because a report expired or aged."""
    return not callable(parameters["aggregate"]) and parameters["repeats"] not in ("mean", "smallest") and not half_life


class SmallTopK(SmallGroupTable):
    """Groups of at most `most` reports: 28 bytes per report.

    A cell (an object and a stream) keeps the reports that can still count: the latest; for the largest and smallest
    those that no later one reaches; for the mean and for a promise all, which a promise must also remember for a whole
    window from the next row on.
    """

    kept: ClassVar[Mapping[str, npt.DTypeLike]] = {
        "object": np.int64, "stream": np.int32, "time": np.int64, "value": np.float64
    }  # fmt: skip
    ranked_by = "value"
    taken: ClassVar[Mapping[str, npt.DTypeLike]] = {"object": np.int64, "stream": np.int32, "value": np.float64}

    def __init__(
        self,
        most: int,
        schedule: Schedule,
        window: int,
        parameters: Mapping[str, Any],
        answers: pa.Schema,
        processor: Callable[[int, Rows], GroupProcessor],
        *,
        mirrored: bool = False,
        carry: Sequence[pa.Field] = (),
        which: Which = "latest",
        several: int = 0,
        half_life: int = 0,
    ) -> None:
        """mirrored: the parameters are for negated values, so that the smallest ranks first.

        several: how many of the columns to carry identify an object, if one does not. half_life: in the unit of the
        times, 0 for no decay; with decay, all reports of a cell are kept except for "latest".
        """
        repeats, aggregate, streams = parameters["repeats"], parameters["aggregate"], parameters["streams"]
        self._repeats = REDUCTIONS.index(repeats) if repeats in REDUCTIONS else NEVER if repeats == "never" else SUM
        self._promise = self._repeats in (SUM, NEVER)
        self._occurrences = repeats if isinstance(repeats, int) else 1
        self._by = {"min": BY_MIN, "max": BY_MAX}.get(aggregate, BY_SUM) if isinstance(aggregate, str) else BY_SUM
        self._called: CalledScores | None = None
        if callable(aggregate):
            self._by, self._called = BY_CALL, CalledScores(aggregate, streams)
        weighted = isinstance(aggregate, Sequence) and not isinstance(aggregate, str)
        self._weights = np.array(aggregate if weighted else np.ones(streams), np.float64)
        self._divisor = float(streams) if aggregate == "mean" else 1.0
        self._k, self._lower, self._upper = (parameters[name] for name in ("k", "lower", "upper"))
        self._window = window
        self._repeated = 0
        self._processor = processor
        self._mirrored = mirrored
        self._several = several
        self._half_life = half_life
        self._falls = never_rises(parameters, half_life)
        self._kind = pa.int64() if several else answers.field("object").type
        named = None if is_integer_id(self._kind) else self._kind
        super().__init__(schedule, most, answers, named, at_once=self._promise, carry=carry, which=which)

    def take_dropped(self) -> Mapping[str, int]:
        dropped, self._repeated = self._repeated, 0
        return {"repeated report": dropped}

    def oldest(self, time: Any) -> Any:
        return time - self._window + 1 if self._promise else super().oldest(time)

    def run_pass(self, step: PassInput) -> PassResult:
        asked = step.moments
        sizes, first_left, entries, answers, repeated = rank_objects(
            step.session_spans, tuple(step.entries.values()), step.times, step.rows["object"], step.rows["stream"],
            read_only(self.signed(step.rows["value"])),
            asked.at, self.schedule.slides_with_longest_window, self._repeats, self._occurrences, self._by,
            self._weights, self._divisor,
            min(self._k, self.most), self._window, self.most, self._half_life, *powers_of_two(),
            self._falls,
        )  # fmt: skip
        self._repeated += repeated
        session, number, ranks, objects, scores, vectors = answers
        if self._called is not None:
            best, ranks, scores = self._called.best(session, number, objects, vectors, self._k)
            session, number, objects = session[best], number[best], objects[best]
        behind = self.columns_behind(step, session, number, objects, scores, self.schedule.starts_at(asked.at)[:, 0])
        named = integers_of(objects, self._kind) if is_integer_id(self._kind) else self.values(objects)
        columns = [
            moments(asked.at[number], self.schema.field("at").type),
            pa.array(ranks),
            *(behind[: self._several] or [named]),
            pa.array(self.signed(scores)),
            *behind[self._several :],
        ]
        return PassResult(sizes, dict(zip(self.kept, entries, strict=True)), first_left, session, columns)

    def signed(self, values: Float64) -> Float64:
        return 0.0 - values if self._mirrored else values

    def processor(self, last: int, entries: Mapping[str, Array]) -> GroupProcessor:
        columns = {name: column for name, column in entries.items() if name != "time"}
        columns["value"] = self.signed(entries["value"])
        if not is_integer_id(self._kind):
            columns["name"] = self.values(entries["object"])
        return self._processor(last, Rows(entries["time"], columns))

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        ids = state.column("object", np.int64, len(owners))
        streams = state.column("stream", np.int32, len(owners), at_least=0, at_most=len(self._weights) - 1)
        state.column("value", np.float64, len(owners), at_least=self._lower, at_most=self._upper)
        rising = (ids[1:] > ids[:-1]) | ((ids[1:] == ids[:-1]) & (streams[1:] >= streams[:-1]))
        state.require(bool((rising | (owners[1:] != owners[:-1])).all()), "object", "must be sorted, then by stream")
