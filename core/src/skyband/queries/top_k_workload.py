"""top-k-workload: many top-k queries over one stream, answered together."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define

from skyband.columns.numbers import as_float64, is_number
from skyband.columns.rows import Rows
from skyband.config.parameters import choice
from skyband.errors import ConfigError, Problem
from skyband.queries import top_k_merging
from skyband.queries.carried_columns import (
    TIE,
    carry_columns,
    carry_fields,
    carry_inputs,
    carry_parameter,
    name_problems,
)
from skyband.queries.composite_ids import (
    Columns,
    answer_ids,
    columns_of,
    identity,
    identity_fields,
    identity_inputs,
    identity_names,
    missing,
    several,
    to_keys,
)
from skyband.queries.processor import GroupProcessor
from skyband.queries.query import Input, Query, column_name
from skyband.queries.rank_order import SMALLEST, order_parameter, score_order
from skyband.queries.row_encoding import at_field
from skyband.queries.schedule import Schedule
from skyband.queries.small_groups import SmallGroups, most_entries
from skyband.queries.top_k_workload_processor import BEST, EACH, WorkloadProcessor
from skyband.queries.workload_queries import NamedQuery, named_queries
from skyband.registry import Binding
from skyband.roles import Backend


@define(eq=True)
class TopKWorkload(Query):
    """Ranks the rows of a stream by a score, for many queries with windows, slides and k of their own.

    Each row is ranked by itself: an object that comes twice can be ranked twice. With `repeats = "best"` it is in an
    answer once, by its row of the window that ranks first, the latest of equal ones; of the backends paneband can.
    Result columns: at, query, rank (from
    1), object, score. Of equal scores the smaller object ranks first where objects are integers, otherwise (decimals
    too) the one of smaller hash, so that all engines agree: the low 64 bits, as a signed number, of MurmurHash3_x64_128
    of the value (of text, its bytes in UTF-8). Rows whose object or score is null, or whose score is not a number, are
    left out and counted. An answer without objects has no rows.

    The queries may change between runs on one checkpoint: those that stay go on, and those that join answer over
    windows that begin at the watermark reached by then, or later. Windows in time stay in time, those in rows in rows.

    Where objects are not integers, the name of every object of the longest window is kept, not only of those that
    may still be answered: number them where there are millions.

    `object` may name several columns, which tell objects apart together: the answers then have these in the place of
    `object`, and equal scores rank by the hash of all of them. A row where one of them is null has no object.
    """

    kind: ClassVar[str] = "top-k-workload"
    roles: ClassVar[tuple[str, ...]] = ("workload-ranker",)
    compared_by: ClassVar[tuple[str, ...]] = ("query", "object")
    shard_by: ClassVar[str | None] = "key"
    evolvable: ClassVar[tuple[str, ...]] = ("queries",)
    drop_reasons: ClassVar[tuple[str, ...]] = ("null object", "no score")
    files: ClassVar[tuple[str, ...]] = ("queries",)

    object: Columns = identity(help="the column that names the object a row is about, or several that do together")
    score: str = column_name(help="the column of scores")
    queries: tuple[NamedQuery, ...] = named_queries(
        help="the queries, each with a name, window, slide and k, and perhaps a phase: a list, or a CSV or Parquet file"
    )
    order: str = order_parameter("scores")
    carry: tuple[str, ...] = carry_parameter(help="further columns of the ranked row to give with it")
    repeats: str = choice(
        EACH, BEST, default=EACH,
        help="where an object comes again: whether each of its rows is ranked, or the best one of the window only",
    )  # fmt: skip

    def __attrs_post_init__(self) -> None:
        taken = ("at", "query", "rank", "score", *self.by)
        problems = name_problems("object", several(self.object), taken)
        problems += name_problems("carry", self.carry, (*taken, *identity_names("object", self.object)))
        if problems:
            raise ConfigError(*problems)

    @property
    def rows(self) -> bool:
        return self.queries[0].window.rows

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return ("query", *columns_of(self.object)) if several(self.object) else self.compared_by

    @property
    def subqueries(self) -> tuple[str, ...]:
        return tuple(query.definition for query in self.queries)

    @property
    def ties(self) -> tuple[str, ...]:
        carried = (TIE,) if self.carry else ()
        return ("object", "score", *carried) if self.rows or self.carry else ()

    def inputs(self) -> tuple[Input, ...]:
        return (
            *identity_inputs("object", self.object),
            Input("score", self.score, "a number", is_number),
            *carry_inputs(self.carry),
        )

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        objects = [batch.column(name) for name in columns_of(self.object)]
        scores = as_float64(self.score, batch.column(self.score)).fill_null(np.nan).to_numpy(zero_copy_only=False)
        ids, keys, names = to_keys(objects)
        columns = {"object": pa.array(ids), "key": pa.array(keys), "score": pa.array(scores)}
        columns |= carry_columns((*several(self.object), *self.carry), batch)
        masks = zip(self.drop_reasons, (missing(objects), np.isnan(scores)), strict=True)
        return columns if names is None else {**columns, "name": names}, dict(masks)

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        named = [pa.field("query", pa.string()), pa.field("rank", pa.int64())]
        ranked = [*identity_fields("object", self.object, schema), pa.field("score", pa.float64())]
        return [at_field(self, schema), *named, *ranked, *carry_fields(self.carry, schema)]

    @property
    def schedule(self) -> Schedule:
        """When its queries answer."""
        lengths = [query.lengths for query in self.queries]
        return Schedule(*zip(*((one.window, one.slide, one.phase) for one in lengths), strict=True))

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        lengths = tuple(query.lengths for query in self.queries)
        once = {} if self.repeats == EACH else {"repeats": self.repeats}
        return {"queries": lengths, "by": "rows" if self.rows else "time", **once}

    def unsupported_by(self, backend: Backend) -> list[Problem]:
        theirs = getattr(backend, "repeats", EACH)
        if theirs == self.repeats:
            return []
        return [Problem("repeats", f"says what a backend does: set it to {theirs!r} here, and drop it there")]

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return WorkloadProcessor(self, bindings["workload-ranker"], answers)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> SmallGroups | None:
        """Where the answer is that of the definition, whatever the ranker, it is read off the rows of small groups."""
        most = most_entries(bindings["workload-ranker"], self.backend_parameters("workload-ranker"))
        carry = [answers.field(name) for name in (*several(self.object), *self.carry)]
        once = self.repeats == BEST
        if not most:
            return None

        def processor(last: int, rows: Rows) -> GroupProcessor:
            return WorkloadProcessor(self, bindings["workload-ranker"], answers).begin(last, rows)

        from skyband.queries.small_row_windows import SmallRowWindows  # on use, because it loads numba
        from skyband.queries.small_workloads import SmallWorkloads

        table = SmallWorkloads(
            most, self.schedule, self.queries, answers, processor,
            mirrored=self.order == SMALLEST, once=once, carry=carry, several=len(several(self.object)),
        )  # fmt: skip
        return SmallRowWindows(table, self.subqueries) if self.rows else table

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no object, so the best of all are among the best of each."""
        keyed = answers.append_column(top_k_merging.ID, pa.array(answer_ids(answers, "object", self.object)))
        ranked = top_k_merging.merge_top_k(
            keyed, [*self.by, "at", "query"], [("score", score_order(self.order)), (top_k_merging.ID, "ascending")]
        )
        place = pc.index_in(ranked.column("query"), value_set=pa.array([query.name for query in self.queries]))
        most = np.array([query.k for query in self.queries])[place.to_numpy()]
        return top_k_merging.truncate(ranked, most, answers.column_names)
