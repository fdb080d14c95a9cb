"""detections: the rows at which a key reaches the bound of a rule, for hundreds of rules over one stream."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pyarrow as pa
from attrs import define
from skyband.columns.ids import PLAIN, is_plain
from skyband.columns.numbers import is_number
from skyband.config.parameters import number
from skyband.errors import ConfigError, Problem
from skyband.groups.per_row_processor import time_field
from skyband.queries.carried_columns import TIE, carry_fields, carry_inputs, name_problems
from skyband.queries.query import Input, Query
from skyband.queries.shared_keys import column_names
from skyband.rules.query_with_rules import SOURCE_OF_RULES
from skyband_expressions.row_conditions import columns_read, problem_in

from skyband_detect.detections import frame_columns
from skyband_detect.detections.counters import Counters, counters_of, value_column
from skyband_detect.detections.keep import Keep, keep_parameter, keys_parameter
from skyband_detect.detections.rule import NO_RULES, Rule, rules_parameter

COLUMNS = ("time", "rule", "key", "value", "low", "high")
"""The columns of answers, before those that are carried."""
_NUMBER = "a number"
_OF_A_RULE = "is a key of each rule in `detections`, not of the query: move it there"


@define(eq=True)
class Detections(Query):
    """Returns the rows at which a key reaches the bound of a rule: "20 failed logins of an address in 10 minutes".

    `detections` is a list of rules, each with a name, a `window` and, as far as it needs them:

    - `key`: the columns that it counts by, such as ["user", "host"]; without it all rows are counted together.
    - `where`: a condition, in SQL as in `source.where`; without it all rows count. A row for which it is null does not.
    - `measure`: "rows"; "distinct COLUMN" for the distinct values of a column, or of several, "distinct host, port";
      "unseen", for keys without a row in the window before; "sum COLUMN" or "mean COLUMN"; "median of COLUMN" or
      "p99 of COLUMN" for a quantile; or "sequence", for `steps` that a key takes one after the other.
    - `at_least`: the bound, a number of rows or values, or a sum, mean or quantile. Not for unseen keys and sequences.
    - `steps`: of a sequence, 2 to 16 conditions, such as ["NOT ok", "ok"]. Each has to be met at a later time than the
      one before, and all within the window. A step may be a table that counts, by `measure` rows or distinct values:
      {where = "NOT ok", at_least = 10, window = "5 minutes"} happens at each time at which a row comes and the bound
      is reached, and with tell = "crossing" only when it is crossed.
    - `any_order`: true lets the steps happen in any order, also at one time.
    - `least`: a mean or quantile of fewer values does not count.
    - `below`, instead of `at_least` and for rows only: answers at the moment at which fewer rows of a key than this are
      left in the window, if there had been enough. A key is not missed before it has had enough rows.
    - `tell`: "crossing" answers when the bound is reached, and again only after the key fell below it. "each" answers
      at each time at which a row comes and the bound is reached.
    - `silence`: after an answer for a key, the rule gives no other for this key at times less than this later.
    - `after`, `until`: the rule answers at times later than `after` and at most `until`. For unseen keys `after` is
      required: keys are learnt before it, as otherwise the first row of each key would be an answer.

    The measure at a time t is over (t - window, t]: rows of one time see each other, in any order of arrival, and a row
    exactly one window old is outside. A key crosses a bound at t if its measure is at least the bound, and was less
    over (t - window, t), without the rows of t. So an answer depends only on the rows of the window, and a rule over
    last year's files gives the answers that the stream gave. A key is unseen at t if it has no row in [t - window, t).

    Result columns: time, rule, key (the key as JSON, {"user": "ann"}), value, low and high, and the columns to `carry`
    of the row that crossed: of the rows of one time, in order of a hash of what they carry, the one at which the
    measure reached the bound. `value` is the measure at the end of that time. It is exact for a crossing, and then
    `low` and `high` equal it. With tell = "each", of a key that had reached the bound before, it is the least possible
    and `high` is null: no more of the key is kept than its rule needs. For unseen keys it is 0. Answers are in order of
    time, rule (as listed) and key, and never change.

    Sums and means are exact, in whole multiples of `unit`; a row with another number is left out as a bad row. They are
    judged when all rows of a time are there, and the last of these, in the same order, stands for it. The p99 of N
    values is the ceil(0.99 N)-th smallest. A row whose number is null or NaN is not counted by that rule. All values of
    the window are kept, whatever the bounds; quantiles with another bound are kept again.

    A sequence is answered at the row of its last step; in any order, at that which completes it. A key crosses at t if
    a sequence is complete in (t - window, t], and none was in (t - window, t). `value` is the shortest time, in
    seconds, from a first step to this row. A state has 8 bytes for each key and 8 for each of its steps, however many
    rows match.

    With `below`, `time` is the moment at which a row becomes exactly one window old, unless a row at that moment takes
    its place; `value` is the number of rows that are left, and carried columns are those of the last row of the key. It
    is answered when the watermark passes that moment, and at the end of a table up to its last row.

    A row with a null in a rule's key, or in the columns of distinct values, is not counted by that rule. Rules that
    have the same condition, key and measure share one counter, so a tenth bound of the same count costs little. A
    counter keeps the newest times or values of each key, one more than the largest bound, however many rows there are.
    For rules with `below` it also keeps the last row of each key in the window: its key as text and what is carried.
    A condition that requires a word of a column of text, such as action = 'login' AND port > 1024, is evaluated on the
    rows with that word only, and one on a single text, such as lower(path) LIKE '%.exe', once for each different text:
    hundreds of such conditions cost little more than one.

    With `keys` or `keep`, rules may come, change and leave during a run: rows of a second source `rules`, in columns or
    lines of JSON with the keys of a rule; `measure` is required. A row with a name alone ends the rule. Its
    key is one of `keys`, each a list of columns by which rows are sent; its condition and measure read those columns,
    `carry`, `rule_columns` and `rule_numbers`. Sums and means are of columns in `rule_numbers`, in which each number is
    a whole multiple of `unit`. A row applies to times later than the watermark when it arrives, and later than `after`.
    A rule holds at once, as if it had always been there, if its counter is kept: that of a fixed rule of the same
    condition, key and measure, or one in `keep`, with `most` at least its bound and `longest` at least its window. In
    `keep`, `below` = true says that such rules may have `below`; numbers need no `most`, and a quantile needs
    `at_least`, the bound of such rules. For any other rule a counter is opened, and it holds one window later, and for
    a sequence also the longest window of a step; until then the version before it goes on. A name stays silent for a
    key, as its `silence` had it, when the rule changes, but not after it ended.

    A row is answered when the watermark passes its time, which is when a later row comes, and with `delay` one that
    much later. With several shards, each row goes to the shards of its keys. With `by`, each group is counted
    separately; for users or addresses use a rule's `key` instead, which costs far less.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> logins = {"user": ["ann", "bob", "ann", "ann"], "ok": [False, True, False, False]}
    >>> rows = pa.table({"ts": pa.array([0, 20, 40, 50], pa.timestamp("s")), **logins})
    >>> rule = {"name": "failures", "key": ["user"], "where": "NOT ok", "window": "1 minute", "at_least": 3}
    >>> local.apply(rows, Detections("ts", detections=[rule])).select(["rule", "key", "value"]).to_pylist()
    [{'rule': 'failures', 'key': '{"user": "ann"}', 'value': 3.0}]
    """

    kind: ClassVar[str] = "detections"
    roles: ClassVar[tuple[str, ...]] = ("key-counter", "key-total")
    answered_by: ClassVar[str] = "skyband_detect.detections.execution:DetectionsExecution"
    files: ClassVar[tuple[str, ...]] = ("detections",)
    broadcast: ClassVar[str | None] = "rules"
    refused_keys: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("at_least", "below", "where", "measure", "window", "silence", "tell", "after", "until"), _OF_A_RULE
        ),
        "windows": "each rule in `detections` has one `window`: write a rule for each length",
        "every": "detections answers at the row that crosses a bound: drop this",
        "emit": "bounds are named beforehand: for questions that come later, run distinct-count or heavy-hitters too",
        "rules": SOURCE_OF_RULES,
    }

    detections: tuple[Rule, ...] = rules_parameter(
        help="the rules, each with a name, window, at_least and further keys: a list, or a CSV, JSON or Parquet file"
    )
    unit: float = number(
        1.0, above=0, kw_only=True, help="the unit of sums and means; values are whole multiples of it"
    )
    carry: tuple[str, ...] = column_names(help="further columns of the row that crossed to return")
    keys: tuple[tuple[str, ...], ...] = keys_parameter(
        help='the keys of rules that arrive during a run, each a list of columns, such as [["user"], []]'
    )
    rule_columns: tuple[str, ...] = column_names(
        help="further columns that the conditions and measures of rules that arrive may read"
    )
    rule_numbers: tuple[str, ...] = column_names(
        help="columns of numbers, multiples of `unit`, whose sums and means rules that arrive may ask"
    )
    keep: tuple[Keep, ...] = keep_parameter(
        help="counters for rules that arrive, with key, where, measure, most and longest: such a rule holds at once"
    )

    def __attrs_post_init__(self) -> None:
        problems = name_problems("carry", self.carry, (*COLUMNS, *self.by)) + name_problems("by", self.by, COLUMNS)
        if not (self.detections or self.keys or self.keep):
            problems.append(Problem("detections", f"{NO_RULES}; or set `keys` or `keep`, for rules to come (got [])"))
        if problems:
            raise ConfigError(*problems)

    @property
    def rows(self) -> bool:
        return False

    @property
    def one_shard(self) -> str | None:
        """Rows go to the shards of their keys."""
        return None

    @property
    def needs(self) -> tuple[str, ...]:
        may_come = bool(self.keys) or any(one.below for one in self.keep)
        return ("below",) if may_come or any(rule.below is not None for rule in self.detections) else ()

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return ("rule", "key")

    @property
    def counters(self) -> Counters:
        """What its rules count."""
        return counters_of(self.detections, self.keep, self.keys)

    @property
    def carried_names(self) -> tuple[str, ...]:
        """The columns that answers and rules to come need of a row: those of keys, then those to carry."""
        return tuple(dict.fromkeys([*self.counters.carry, *self.carry, *self.rule_columns, *self.rule_numbers]))

    @property
    def ties(self) -> tuple[str, ...]:
        values = (value_column(number) for number in range(len(self.counters.values)))
        return (*([TIE] if self.carried_names else []), *values)

    def inputs(self) -> tuple[Input, ...]:
        inputs = []
        for place, rule in enumerate(self.detections):
            inputs += _read_by(f"detections[{place}]", rule)
        for place, key in enumerate(self.keys):
            inputs += [Input(f"keys[{place}]", name, PLAIN, is_plain) for name in key]
        for place, one in enumerate(self.keep):
            inputs += _read_by(f"keep[{place}]", one.as_rule)
        inputs += [Input("rule_numbers", name, _NUMBER, is_number) for name in self.rule_numbers]
        return (*inputs, *carry_inputs(self.carry), *carry_inputs(self.rule_columns, "rule_columns"))

    def check(self, schema: pa.Schema) -> list[Problem]:
        problems = super().check(schema)
        if problems:
            return problems
        rules = [(f"detections[{place}]", rule) for place, rule in enumerate(self.detections)]
        rules += [(f"keep[{place}]", one.as_rule) for place, one in enumerate(self.keep)]
        conditions = [(f"{field}.{key}", where) for field, rule in rules for key, where in rule.conditions]
        wrong = {where: problem_in(where, schema) for where in dict.fromkeys(where for _, where in conditions)}
        each = ((field, wrong[where]) for field, where in conditions)
        return [Problem(field, problem) for field, problem in each if problem is not None]

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        return frame_columns.encode(self.counters, self.carried_names, self.rule_numbers, self.unit, batch)

    def check_frame(self, frame: pa.RecordBatch) -> None:
        frame_columns.check(self.counters, frame)

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        texts = [pa.field(name, pa.string()) for name in ("rule", "key")]
        numbers = [pa.field(name, pa.float64()) for name in ("value", "low", "high")]
        return [time_field(self, schema), *texts, *numbers, *carry_fields(self.carry, schema)]

    @property
    def asked_roles(self) -> tuple[str, ...]:
        roles = {counter.role for counter in self.counters.all} | ({"key-counter"} if self.keys else set())
        return tuple(role for role in self.roles if role in roles)

    def backend_parameters(self, role: str) -> dict[str, Any]:
        """Those of the role's first counter; the others have their own."""
        own = (counter.parameters for counter in self.counters.all if counter.role == role)
        return next(own, {"longest": 1})


def _read_by(field: str, rule: Rule) -> list[Input]:
    """The columns of a rule's key, measure and conditions."""
    what, takes = (PLAIN, is_plain) if rule.number is None else (_NUMBER, is_number)
    named = ((key, name) for key, where in rule.conditions for name in columns_read(where))
    return [
        *(Input(f"{field}.key", name, PLAIN, is_plain) for name in rule.key),
        *(Input(f"{field}.measure", name, what, takes) for name in rule.values),
        *(Input(f"{field}.{key}", name, "a column", _is_any) for key, name in named),
    ]


def _is_any(_: pa.DataType) -> bool:
    """The types in a condition are checked separately."""
    return True
