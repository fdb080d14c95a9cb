"""top-k-workload: many top-k queries over one stream, answered together."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.columns.numbers import as_float64, is_number
from skyband.columns.state_frame_checks import check_named, check_numbers, check_whole
from skyband.config.parameters import choice
from skyband.errors import ConfigError, Problem
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
    columns_of,
    identity,
    identity_fields,
    identity_inputs,
    identity_names,
    missing,
    several,
    to_keys,
)
from skyband.queries.first_query import FirstQuery, SourceSample
from skyband.queries.query import Input, Query
from skyband.queries.schedule import Schedule
from skyband.queries.shared_keys import column_name, order_parameter
from skyband.queries.time_columns import at_field
from skyband.roles import Backend

from skyband_workload.top_k_workload.workload_file import NamedQuery, named_queries

EACH, BEST = "each", "best"
"""Whether each row is ranked by itself, or an object once, by its best row."""


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

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> pages = {"page": ["/a", "/b", "/c"], "ms": [3.0, 9.0, 5.0]}
    >>> rows = pa.table({"ts": pa.array([0, 20, 40], pa.timestamp("s")), **pages})
    >>> slowest = {"name": "slowest", "window": "1 minute", "slide": "1 minute", "k": 2}
    >>> query = TopKWorkload("ts", object="page", score="ms", queries=[slowest])
    >>> local.apply(rows, query).select(["rank", "object", "score"]).to_pylist()
    [{'rank': 1, 'object': '/b', 'score': 9.0}, {'rank': 2, 'object': '/c', 'score': 5.0}]
    """

    kind: ClassVar[str] = "top-k-workload"
    roles: ClassVar[tuple[str, ...]] = ("workload-ranker",)
    answered_by: ClassVar[str | None] = "skyband_workload.top_k_workload.execution:TopKWorkloadExecution"
    chart: ClassVar[str | None] = "ranks"
    compared_by: ClassVar[tuple[str, ...]] = ("query", "object")
    separate_answers: ClassVar[tuple[str, ...]] = ("query",)
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
        reserved = ("at", "query", "rank", "score", *self.by)
        problems = name_problems("object", several(self.object), reserved)
        problems += name_problems("carry", self.carry, (*reserved, *identity_names("object", self.object)))
        if problems:
            raise ConfigError(*problems)

    @classmethod
    def first_query(cls, sample: SourceSample) -> FirstQuery | None:
        if not sample.labels or not sample.numbers:
            return None
        label, score, window = sample.labels[0], sample.numbers[0], sample.window
        highest = {"name": "highest", "window": window, "slide": window, "k": 10}
        keys = {"object": label, "score": score, "queries": [highest]}
        return FirstQuery(f"the ten rows with the highest {score} in each window of {window}", keys)

    @property
    def rows(self) -> bool:
        return self.queries[0].window.rows

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return ("query", *columns_of(self.object)) if several(self.object) else self.compared_by

    @property
    def key_columns(self) -> tuple[str, ...]:
        """An object that may be there more than once is told apart by its rank."""
        return self.key or (("query", "rank") if self.repeats == EACH else self.compared_columns)

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

    def check_frame(self, frame: pa.RecordBatch) -> None:
        check_whole(frame, "object", "key")
        check_named(frame)
        check_numbers(frame, "score", at_least=-np.inf)

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
