"""The small groups of top-k-workload: for each, the rows that may still be in answers, by rank."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from skyband.arrays import TIME_MIN, Array, Float64, Int64, read_only
from skyband.columns.integer_ids import integers_of, is_integer_id
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import Which
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.table import PassInput, PassResult, SmallGroupTable
from skyband.queries.time_columns import moments
from skyband.rules.small_groups_with_rules import SmallGroupsWithRules
from skyband.state_validation import StateReader
from skyband.windows.schedule import Moments, Schedule

from skyband_workload.top_k_workload.small_groups_kernels import rank_rows
from skyband_workload.top_k_workload.workload_file import NamedQuery


class SmallWorkloads(SmallGroupTable):
    """Groups with at most `most` rows that may still be in answers: 28 bytes a row.

    A row that is beaten by as many later ones as the largest k (with `once`, of as many objects) is in no later answer.
    How often a row was beaten does not depend on dropped rows, so the state does not depend on when they were dropped.
    """

    kept: ClassVar[Mapping[str, npt.DTypeLike]] = {
        "score": np.float64, "object": np.int64, "time": np.int64, "beaten": np.int32
    }  # fmt: skip
    ranked_by = "score"
    taken: ClassVar[Mapping[str, npt.DTypeLike]] = {"object": np.int64, "score": np.float64}

    def __init__(
        self,
        most: int,
        schedule: Schedule,
        queries: Sequence[NamedQuery],
        answers: pa.Schema,
        processor: Callable[[int, Rows], GroupProcessor],
        *,
        mirrored: bool = False,
        once: bool = False,
        carry: Sequence[pa.Field] = (),
        several: int = 0,
        most_k: int = 0,
    ) -> None:
        """mirrored: whether the smallest score ranks first, by negating scores.

        once: whether an object is in an answer only once, by its best row.
        several: how many columns of `carry` identify an object together, or 0 if one column does.
        most_k: the largest k of rules, or 0 for that of the queries.
        """
        self._parts = [query.definition for query in queries]
        self._labels = pa.array([query.name for query in queries], pa.string())
        self._k = np.array([query.k for query in queries], np.int64)
        self._most_k = most_k or int(self._k.max())
        self._since: Int64 | None = None
        self._processor = processor
        self._mirrored = mirrored
        self._once = once
        self._several = several
        self._kind = pa.int64() if several else answers.field("object").type
        named = None if is_integer_id(self._kind) else self._kind
        best: Which = "smallest" if mirrored else "largest"
        super().__init__(schedule, most, answers, named, carry=carry, which=best if once else "each")

    def start_from(self, since: Mapping[str, int]) -> None:
        self._since = np.array([since.get(part, TIME_MIN) for part in self._parts], np.int64)

    def due_moments(self, moments: Moments, latest: int | None) -> Moments:
        due = np.ones(len(moments.at), bool)
        if latest is not None:
            due &= moments.at <= self.schedule.each_after(latest)[moments.query]
        if self._since is not None:
            due &= moments.at - self.schedule.windows[moments.query] >= self._since[moments.query]
        return moments if due.all() else Moments(moments.at[due], moments.query[due])

    def run_pass(self, step: PassInput) -> PassResult:
        due = step.moments
        since, ks = self.windows_of(step)
        sizes, grown, entries, answers = rank_rows(
            step.session_spans, tuple(step.entries.values()), step.times, step.rows["object"],
            read_only(self.signed(step.rows["score"])),
            due.at, since, ks,
            self.schedule.slides_with_longest_window, self._most_k, self.most, self._once,
        )  # fmt: skip
        session, number, ranks, objects, scores = answers
        scores, query = self.signed(scores), due.query[number]
        behind = self.columns_behind(step, session, number, objects, scores, since)
        named = integers_of(objects, self._kind) if is_integer_id(self._kind) else self.values(objects)
        columns = [
            moments(due.at[number], self.schema.field("at").type),
            self.labels.take(pa.array(query)),
            pa.array(ranks),
            *(behind[: self._several] or [named]),
            pa.array(scores),
            *behind[self._several :],
        ]
        return PassResult(sizes, dict(zip(self.kept, entries, strict=True)), grown, session, columns)

    def windows_of(self, step: PassInput) -> tuple[Int64, Int64]:
        """int64[m] each: the start of the window of each moment, and the k of its answer."""
        query = step.moments.query
        return step.moments.at - self.schedule.windows[query], self._k[query]

    @property
    def labels(self) -> pa.Array:
        """The names of the queries in answers."""
        return self._labels

    def signed(self, scores: Float64) -> Float64:
        return 0.0 - scores if self._mirrored else scores

    def processor(self, last: int, entries: Mapping[str, Array]) -> GroupProcessor:
        columns = {name: column for name, column in entries.items() if name not in ("time", "beaten")}
        columns["score"] = self.signed(entries["score"])
        if not is_integer_id(self._kind):
            columns["name"] = self.values(entries["object"])
        processor = self._processor(last, Rows(entries["time"], columns))
        if self._since is not None:
            processor.start_from(dict(zip(self._parts, self._since.tolist(), strict=True)))
        return processor

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        scores = state.column("score", np.float64, at_least=-np.inf, at_most=np.inf)
        ids = state.column("object", np.int64, len(scores))
        beaten = state.column("beaten", np.int32, len(scores), at_least=0)
        by_rank = (scores[1:] < scores[:-1]) | ((scores[1:] == scores[:-1]) & (ids[1:] >= ids[:-1]))
        state.require(bool((by_rank | (owners[1:] != owners[:-1])).all()), "score", "a group's rows must be by rank")
        state.require(len(beaten) == len(owners), "beaten", "must have a value for each row")


class SmallWorkloadsWithRules(SmallGroupsWithRules, SmallWorkloads):
    """Small groups that answer rules within `longest` and `most`."""

    def windows_of(self, step: PassInput) -> tuple[Int64, Int64]:
        return step.since, step.k

    @property
    def labels(self) -> pa.Array:
        return self._rules.names
