"""top-k-workload: many top-k queries over one stream, answered together."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define
from attrs.converters import optional
from skyband.columns.numbers import as_float64, is_number
from skyband.columns.state_frame_checks import check_named, check_numbers, check_whole
from skyband.config.durations import Duration, duration, parsed
from skyband.config.parameters import choice, integer
from skyband.errors import ConfigError, Problem
from skyband.queries import composite_ids
from skyband.queries.carried_columns import (
    TIE,
    carry_columns,
    carry_fields,
    carry_inputs,
    name_problems,
)
from skyband.queries.composite_ids import Columns
from skyband.queries.query import Input, Query
from skyband.queries.shared_keys import column_name, column_names, order_parameter
from skyband.queries.time_columns import at_field
from skyband.roles import Backend, TopKQuery
from skyband.rules.query_with_rules import SOURCE_OF_RULES
from skyband.windows.schedule import Schedule, schedule_for_rules

from skyband_workload.top_k_workload.workload_file import NO_QUERIES, NamedQuery, named_queries

EACH, BEST = "each", "best"
"""Whether each row is ranked separately, or each object once, by its best row."""

RULE_K = "k of the rule"
"""A column of the answers of shards, with a name that no column of a source has."""


@define(eq=True)
class TopKWorkload(Query):
    """Ranks the rows of a stream by a score, for many queries, each with its own window, slide and k.

    Each row is ranked separately, so an object with two rows can be ranked twice. With `repeats = "best"`, each object
    is in an answer once, by its best row in the window, the latest of equal ones; of the backends, paneband can do
    this. Result columns: at, query, rank (from 1), object, score. Of equal scores, the smaller object ranks first if
    objects are integers, otherwise (decimals too) the one with the smaller hash, so that all engines agree: the low 64
    bits, as a signed number, of MurmurHash3_x64_128 of the value (of its UTF-8 bytes for text). Rows whose object or
    score is null, or whose score is not a number, are left out and counted. An answer without objects has no rows.

    The queries may change between runs on one checkpoint: queries that stay continue, and new ones answer over windows
    that start at the watermark reached by then, or later. Windows cannot change from time to rows or back.

    With `longest` and `most`, the state is kept for every query within these limits (in time), not only for the present
    ones. Queries may then change freely between runs, and rules may arrive during a run, as rows of a second source: in
    a job `rules = { path = "rules/", format = "json" }`, in a program `apply(…, rules=…)` (with a streaming DataFrame
    of Spark, a second one), on the local engine `LocalRun.broadcast`. A rule has a name, window, slide and k,
    optionally a phase, and the times `after` and `until` between which it is in force. With `by`, a rule for a single
    group has the group's values of `by` as a list of strings in a column `group`, `["DE", "3"]`; null means all groups.
    With several groupings, `by = [["client"], []]`, the list ends with the name of the grouping: `["a", "client"]`, or
    `[null, "()"]`. A table may also have rules as lines of JSON in one column `value`, as Kafka does. At its moments
    later than `after` and at most `until`, a rule gives the answers that it would have given had it always been in
    force. Without `after`, or if that is past, it is in force from the watermark reached when it arrived, which is part
    of the state. A row with the same name replaces the rule from its time on, and one without a window ends it. With
    `answers = "changes"`, the rows of a rule that has ended leave at the next microsecond. A rule longer than
    `longest`, with a k above `most`, or otherwise wrong is a bad row: see `bad_rows`. The backend must have
    `any-subquery`, as paneband does; it retains about k (1 + ln(N / k)) of N rows for k = `most`, whatever the rules.
    Small groups are answered together, with and without rules.

    If objects are not integers, the names of all objects in the longest window are kept, not only of those that may
    still be in answers: with millions of objects, use numbers.

    `object` may be several columns, which identify objects together: answers then have these columns in place of
    `object`, and equal scores rank by the hash of all of them. A row with a null in one of them has no object.

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
    answered_by: ClassVar[str] = "skyband_workload.top_k_workload.execution:TopKWorkloadExecution"
    separate_answers: ClassVar[tuple[str, ...]] = ("query",)
    shard_by: ClassVar[str | None] = "key"
    evolvable: ClassVar[tuple[str, ...]] = ("queries",)
    drop_reasons: ClassVar[tuple[str, ...]] = ("null object", "no score")
    files: ClassVar[tuple[str, ...]] = ("queries",)
    broadcast: ClassVar[str | None] = "rules"
    refused_keys: ClassVar[Mapping[str, str]] = {"rules": SOURCE_OF_RULES}
    backend_remedies: ClassVar[Mapping[str, str]] = {
        "on_demand": "for rules that arrive during a run, use one that answers any subquery, such as paneband"
    }

    object: Columns = composite_ids.identity(
        help="the column that names the object a row is about, or several that identify it together"
    )
    score: str = column_name(help="the column of scores")
    queries: tuple[NamedQuery, ...] = named_queries(
        default=(),
        help="the queries, each with a name, window, slide, k and optional phase: a list, or a CSV or Parquet file",
    )
    order: str = order_parameter("scores")
    carry: tuple[str, ...] = column_names(help="further columns of the ranked row to include in answers")
    repeats: str = choice(
        EACH, BEST, default=EACH,
        help="whether each row of an object is ranked, or only its best one in the window",
    )  # fmt: skip
    longest: Duration | None = duration(
        None, kw_only=True, converter=optional(parsed),
        help="the longest window of queries and rules, for which the state is kept, with `most`",
    )  # fmt: skip
    most: int | None = integer(
        None, at_least=1, kw_only=True, help="the largest k of queries and rules, with `longest`"
    )

    def __attrs_post_init__(self) -> None:
        self._check_limits()
        reserved = ("at", "query", "rank", "score", *self.by)
        problems = name_problems("object", composite_ids.several(self.object), reserved)
        problems += name_problems(
            "carry", self.carry, (*reserved, *composite_ids.identity_names("object", self.object))
        )
        if problems:
            raise ConfigError(*problems)

    def _check_limits(self) -> None:
        """Raise ConfigError if `longest` and `most` do not fit each other, or the queries."""
        problems = []
        longest, most = self.longest, self.most
        if longest is None or most is None:
            if (longest is None) != (most is None):
                missing_key = "most" if most is None else "longest"
                problems.append(Problem(missing_key, "is required: `longest` and `most` need each other"))
            elif not self.queries:
                problems.append(Problem("queries", f"{NO_QUERIES}; or give `longest` and `most`, for later rules"))
        else:
            if longest.rows:
                problems.append(Problem("longest", f"must be a length of time, as for all rules (got {longest})"))
            for place, query in enumerate(self.queries):
                if query.window.rows != longest.rows or query.window.length > longest.length:
                    message = f"must be at most longest = {str(longest)!r}, in time (got {query.window})"
                    problems.append(Problem(f"queries[{place}].window", message))
                if query.k > most:
                    problems.append(Problem(f"queries[{place}].k", f"must be at most most = {most} (got {query.k})"))
        if problems:
            raise ConfigError(*problems)

    @property
    def takes_rules(self) -> bool:
        """Whether the state is kept for rules (`longest` and `most`), not only for the present queries."""
        return self.longest is not None

    @property
    def needs(self) -> tuple[str, ...]:
        return ("any-subquery",) if self.takes_rules else ()

    @property
    def rows(self) -> bool:
        return not self.takes_rules and self.queries[0].window.rows

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return ("query", *composite_ids.identity_names("object", self.object))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Rows of an object that may be in an answer several times are distinguished by rank."""
        return self.key or (("query", "rank") if self.repeats == EACH else self.compared_columns)

    @property
    def subqueries(self) -> tuple[str, ...]:
        """Empty with `longest` and `most`: any query within these may then join and leave freely."""
        return () if self.takes_rules else tuple(query.definition for query in self.queries)

    @property
    def ties(self) -> tuple[str, ...]:
        carried = (TIE,) if self.carry else ()
        return ("object", "score", *carried) if self.rows or self.carry else ()

    def inputs(self) -> tuple[Input, ...]:
        return (
            *composite_ids.identity_inputs("object", self.object),
            Input("score", self.score, "a number", is_number),
            *carry_inputs(self.carry),
        )

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        objects = [batch.column(name) for name in composite_ids.columns_of(self.object)]
        scores = as_float64(self.score, batch.column(self.score)).fill_null(np.nan).to_numpy(zero_copy_only=False)
        ids, keys, names = composite_ids.to_keys(objects)
        columns = {"object": pa.array(ids), "key": pa.array(keys), "score": pa.array(scores)}
        columns |= carry_columns((*composite_ids.several(self.object), *self.carry), batch)
        masks = zip(self.drop_reasons, (composite_ids.missing(objects), np.isnan(scores)), strict=True)
        return columns if names is None else {**columns, "name": names}, dict(masks)

    def check_frame(self, frame: pa.RecordBatch) -> None:
        check_whole(frame, "object", "key")
        check_named(frame)
        check_numbers(frame, "score", at_least=-np.inf)

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        named = [pa.field("query", pa.string()), pa.field("rank", pa.int64())]
        ranked = [*composite_ids.identity_fields("object", self.object, schema), pa.field("score", pa.float64())]
        return [at_field(self, schema), *named, *ranked, *carry_fields(self.carry, schema)]

    @property
    def schedule(self) -> Schedule:
        """The schedule of the queries; with rules, every moment may be due while the longest window has rows."""
        if self.longest is not None:
            return schedule_for_rules(self.longest.length)
        lengths = [query.lengths for query in self.queries]
        return Schedule(*zip(*((query.window, query.slide, query.phase) for query in lengths), strict=True))

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        lengths = tuple(query.lengths for query in self.queries)
        once: dict[str, Any] = {} if self.repeats == EACH else {"repeats": self.repeats}
        if self.longest is not None and self.most is not None:
            lengths, once = (TopKQuery(self.longest.length, 1, self.most),), {**once, "on_demand": True}
        return {"queries": lengths, "by": "rows" if self.rows else "time", **once}

    def unsupported_by(self, backend: Backend) -> list[Problem]:
        problems = []
        repeats = getattr(backend, "repeats", EACH)
        if repeats != self.repeats:
            message = f"must be set here, not for the backend: set it to {repeats!r} here, and remove it there"
            problems.append(Problem("repeats", message))
        if getattr(backend, "on_demand", False) != self.takes_rules:
            message = "sets on_demand of the backend: remove it there, and give `longest` and `most` here for rules"
            problems.append(Problem("longest", message))
        return problems
