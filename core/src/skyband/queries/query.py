"""Query: the base class of all queries, which defines the columns that one reads and how they are encoded."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import pyarrow as pa
from attrs import define, frozen
from attrs.converters import optional

from skyband.columns.ids import PLAIN, is_plain
from skyband.columns.keyed_frames import plain_type, with_int32_codes
from skyband.config.calendar_lengths import Length, zone_columns
from skyband.config.durations import Duration, duration, parsed
from skyband.config.literals import literal
from skyband.config.parameters import Named, checked, choice
from skyband.errors import NO_COLUMN, TEXT_COLUMN, Problem
from skyband.queries.grouping_sets import (
    GROUPING,
    GroupingSets,
    as_group_columns,
    check_group_columns,
    sets_of,
    source_columns,
)
from skyband.queries.output_modes import ALL, CHANGE, answers_parameter, output_problems
from skyband.queries.shared_keys import as_names, check_names, column_name, column_names, is_name, no_column
from skyband.registry.backend_loading import Binding
from skyband.roles import Backend
from skyband.windows.window_parameters import zone_problems

NULL_TIME, NULL_SOURCE, AHEAD, BAD = "null time", "null source", "ahead", "bad"
FAIL, COUNT = "fail", "count"
"""Values of `Query.bad_rows`: the effect of a row that the query cannot use."""

FREE = ("bad_rows",)
"""Keys of every query that may differ from those of a checkpoint or savepoint: states do not depend on them."""


@frozen
class Input:
    """A column that a query reads: its key in the configuration, its name, and its allowed types."""

    key: str
    column: str
    what: str
    accepts: Any
    """Arrow type -> bool."""


@define(eq=True)
class Query(Named, ABC):
    """What a user asks, in terms of columns, independent of how it is answered. Immutable."""

    kind: ClassVar[str]
    """Its name, the same as `QueryInfo.kind`."""

    roles: ClassVar[tuple[str, ...]]
    """The roles whose backends it uses; may be empty."""

    answered_by: ClassVar[str]
    """"package.module:Class" of its `Execution`, which answers it; imported when a query first runs."""

    shard_by: ClassVar[str | None] = None
    """The frame column whose hash spreads a query without `by` over shards; None if it runs on one shard, or
    `Execution.partition` and `one_shard` decide."""

    evolvable: ClassVar[tuple[str, ...]] = ()
    """Keys that may differ from those of a checkpoint: `subqueries` names their parts."""

    broadcast: ClassVar[str | None] = None
    """The key that names, in a job, a second table whose rows change the query while it runs; None if there is none.
    Its execution then has a `broadcast_state`."""

    files: ClassVar[tuple[str, ...]] = ()
    """Keys that may name a file instead; a job looks for it next to its own file."""

    refused_keys: ClassVar[Mapping[str, str]] = {}
    """Keys that users may know from other queries, each with a message about what to do instead."""

    backend_remedies: ClassVar[Mapping[str, str]] = {}
    """By parameter that only some backends have, what to do if the chosen one lacks it."""

    drop_reasons: ClassVar[tuple[str, ...]] = ()
    """The reasons for which `encode_columns` or a processor may drop rows; each is a metric."""

    answered_reasons: ClassVar[tuple[str, ...]] = ()
    """The `drop_reasons` whose rows are answered nevertheless, with nulls where their value would count."""

    separate_answers: ClassVar[tuple[str, ...]] = ()
    """Columns that distinguish a group's answers at one moment, such as the window of each."""

    time: str = column_name(help="time of a row: a timestamp or date, or any ascending integer for windows in rows")
    by: tuple[str, ...] = checked(
        (), type="columns, or lists of them", check=check_group_columns, converter=as_group_columns, kw_only=True,
        help='grouping columns: each group is its own stream; or a list of lists of them, such as [["client"], []]',
    )  # fmt: skip
    delay: Duration = duration(
        "0 seconds", at_least=0, kw_only=True, help="how late rows may be; later ones are dropped and counted"
    )
    ahead: Duration | None = duration(
        None, at_least=1, kw_only=True, converter=optional(parsed),
        help="a row further than this ahead of all others, as from a wrong clock, is dropped and counted",
    )  # fmt: skip
    source: str | None = checked(
        None, type="column", check=is_name, kw_only=True,
        help="the column that names the source of a row; each source then has its own watermark",
    )  # fmt: skip
    sources: tuple[str | int, ...] | None = checked(
        None, type="list", check=check_names, kw_only=True,
        converter=as_names,
        help="all sources, as values of the column; the watermark is that of the slowest one",
    )  # fmt: skip
    idle: Duration | None = duration(
        None, at_least=1, kw_only=True, converter=optional(parsed),
        help="a source this far behind the newest no longer holds the others back",
    )  # fmt: skip
    bad_rows: str = choice(
        FAIL, COUNT, default=FAIL, kw_only=True,
        help="the effect of a row that cannot be used, such as one of an unlisted source: end the run, or drop and "
        "count the row; in a job also a place to write such rows to",
    )  # fmt: skip
    answers: str = answers_parameter()
    key: tuple[str, ...] = column_names(
        help="for changes or a table of the newest answers, the columns that identify a row; none: those of the query"
    )
    changed: tuple[str, ...] = column_names(help="for these, the columns whose changes are reported; none: all")

    @property
    @abstractmethod
    def rows(self) -> bool:
        """Whether its windows are counted in rows."""

    @property
    def lengths(self) -> Mapping[str, Length]:
        """How often it answers and over which windows, by key, for queries that support calendars."""
        return {}

    @property
    def zone_column(self) -> str | None:
        """The grouping column that names each group's time zone; None if all share one."""
        return next(iter(zone_columns(self.lengths.values())), None)

    @property
    def one_shard(self) -> str | None:
        """Why it runs on one shard without `by`; None if `Execution.merge` can merge the answers of several."""
        if self.rows:
            return "row windows need one order of all rows"
        return f"{self.kind} needs all rows in one place" if self.shard_by is None else None

    @property
    def all_drop_reasons(self) -> tuple[str, ...]:
        """All reasons for which rows may be dropped, including those of every query."""
        ahead = [] if self.ahead is None else [AHEAD]
        bad = [] if self.bad_rows == FAIL else [BAD]
        return (NULL_TIME, *([] if self.source is None else [NULL_SOURCE]), *ahead, *bad, *self.drop_reasons)

    @property
    def compared_columns(self) -> tuple[str, ...]:
        """The columns of an answer, besides `by` and the moment, that identify a row of it; empty: all columns."""
        return ()

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that, besides `by` and the moment, identify a row of the answers."""
        return self.key or self.compared_columns

    @property
    def promises(self) -> Mapping[str, str]:
        """The `drop_reasons` that mean a broken promise about the input: for each, a sentence about such "rows" for the
        user, with the remedy.
        """
        return {}

    @property
    def source_count(self) -> int:
        """The number of sources with separate watermarks."""
        return len(self.sources) if self.source is not None and self.sources is not None else 1

    _hashed_keys: ClassVar[tuple[str, ...]] = ()
    """Keys whose columns `encode_columns` hashes, so that plain text may be passed as dictionaries."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the source that it reads, without duplicates."""
        named = [] if self.source is None else [self.source]
        return tuple(
            dict.fromkeys([self.time, *source_columns(self.by), *(column.column for column in self.inputs()), *named])
        )

    @property
    def subqueries(self) -> tuple[str, ...]:
        """The parts of its `evolvable` keys, each with a complete name: parts join and leave a checkpoint."""
        return ()

    @property
    def gives_states(self) -> bool:
        """Whether its answers are states, as bytes."""
        return False

    @property
    def asked_roles(self) -> tuple[str, ...]:
        """The `roles` whose backends this query uses, if not every query of its kind uses all."""
        return self.roles

    @property
    def named_backends(self) -> Mapping[str, Binding]:
        """The backends that its keys name, bound, by the place of each, such as `features[0]`. Never in `asked_roles`.

        The query makes sure that each can be created. They are part of a checkpoint as others are.
        """
        return {}

    @property
    def needs(self) -> tuple[str, ...]:
        """The capabilities that its backends must have."""
        return ()

    @property
    def ties(self) -> tuple[str, ...]:
        """Frame columns that order a group's rows of equal time, if answers depend on their order."""
        return ()

    @abstractmethod
    def inputs(self) -> tuple[Input, ...]:
        """The columns it reads besides `time` and `by`."""

    @abstractmethod
    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        """The frame columns made from `inputs`, and masks (bool[n], by reason) of rows to drop and count."""

    def check_frame(self, frame: pa.RecordBatch) -> None:
        """Raise SnapshotError if a frame from a state holds values that `encode_columns` never makes.

        Its columns have the right types, and each row has a time and a group. The rest is untrusted: places and bounded
        numbers must be checked here. See `skyband.columns.state_frame_checks`.
        """

    @abstractmethod
    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        """The result columns after `by`, for a source with this schema."""

    @abstractmethod
    def backend_parameters(self, role: str) -> dict[str, Any]:
        """The parameters this query passes to the backend of a role, such as k and window."""

    def unsupported_by(self, backend: Backend) -> list[Problem]:  # noqa: ARG002 - most backends can answer every query
        """Problems of using this backend, for what it cannot answer."""
        return []

    def check(self, schema: pa.Schema) -> list[Problem]:
        """All problems of this query on a source with this schema."""
        problems = [*self._check_time(schema), *self._check_source(schema)]
        if not problems:
            problems += zone_problems(self.lengths, schema.field(self.time).type)
            problems += self._check_zone_column(schema)
        problems += self._check_by(schema)
        for column in self.inputs():
            if column.column not in schema.names:
                problems.append(Problem(column.key, no_column(column.column, schema), NO_COLUMN))
            elif not column.accepts(schema.field(column.column).type):
                kind = schema.field(column.column).type
                message = f"column {column.column!r} must be {column.what} (it is {kind})"
                problems.append(Problem(column.key, message, _code_of(kind)))
        if not problems:
            fields = self.answer_fields(schema)
            problems += output_problems(self, fields)
            answers = {*(field.name for field in fields), *([] if self.answers == ALL else [CHANGE.name])}
            clash = "is also the name of a column of the answers: rename it in the source"
            problems += [Problem("by", f"{name!r} {clash}") for name in self.by if name in answers]
        return problems

    def _check_zone_column(self, schema: pa.Schema) -> list[Problem]:
        if self.zone_column is None:
            return []
        from skyband.queries.zones_of_groups import zone_column_problems  # on use, as few queries have such a column

        problems = zone_column_problems(self.lengths, sets_of(self.by), schema)
        if self.answers != ALL:
            message = f"must be 'all' when each group has its own time zone, from {self.zone_column!r}"
            problems.append(Problem("answers", f"{message} (got {literal(self.answers)})"))
        return problems

    def _check_by(self, schema: pa.Schema) -> list[Problem]:
        problems = []
        if isinstance(self.by, GroupingSets) and GROUPING in source_columns(self.by):
            message = f"{GROUPING!r} is the column that distinguishes groupings: rename yours in the source"
            problems.append(Problem("by", message))
        for name in source_columns(self.by):
            if name not in schema.names:
                problems.append(Problem("by", no_column(name, schema), NO_COLUMN))
            elif not is_plain(schema.field(name).type):
                message = f"column {name!r} must be {PLAIN} (it is {schema.field(name).type})"
                problems.append(Problem("by", message))
        return problems

    def _check_time(self, schema: pa.Schema) -> list[Problem]:
        if self.time not in schema.names:
            return [Problem("time", no_column(self.time, schema), NO_COLUMN)]
        kind = schema.field(self.time).type
        for key, length in (("delay", self.delay), ("ahead", self.ahead)):
            if length is not None and length.rows and not pa.types.is_integer(kind):
                return [Problem(key, f"must be in time, as column {self.time!r} is (got {length})")]
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or (self.rows and pa.types.is_integer(kind)):
            return []
        what = "a timestamp, a date or an integer" if self.rows else "a timestamp or a date"
        return [Problem("time", f"column {self.time!r} must be {what} (it is {kind}); cast it first", _code_of(kind))]

    def _check_source(self, schema: pa.Schema) -> list[Problem]:
        if self.source is None:
            message = "needs `source`, the column that names the source of a row: add it, or remove this key"
            return [Problem(key, message) for key in ("sources", "idle") if getattr(self, key) is not None]
        if self.sources is None:
            return [Problem("sources", f"is required with source = {self.source!r}: the list of all sources")]
        if self.source not in schema.names:
            return [Problem("source", no_column(self.source, schema), NO_COLUMN)]
        kind = plain_type(schema.field(self.source).type)
        try:
            pa.array(self.sources).cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            message = f"must be values of the column {self.source!r}, which is {kind} (got {literal(self.sources)})"
            return [Problem("sources", message)]
        return []

    def result_schema(self, schema: pa.Schema) -> pa.Schema:
        """The schema of the result: the grouping columns, then the answer's, with `change` after `at` if changes are
        reported."""
        whole = pa.schema([*self.group_fields(schema), *self.answer_fields(schema)])
        return whole if self.answers == ALL else whole.insert(whole.get_field_index("at") + 1, CHANGE)

    def group_fields(self, schema: pa.Schema) -> list[pa.Field]:
        """The grouping columns of answers, for a source with these columns.

        Dictionaries get codes of at least int32: a stream may have more groups than one batch has words.
        """
        fields = [schema.field(name) for name in source_columns(self.by)]
        fields = [field.with_type(with_int32_codes(field.type)) for field in fields]
        if not isinstance(self.by, GroupingSets):
            return fields
        return [*(field.with_nullable(True) for field in fields), pa.field(GROUPING, pa.string())]


def _code_of(kind: pa.DataType) -> str | None:
    return TEXT_COLUMN if pa.types.is_string(kind) else None
