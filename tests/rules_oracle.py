"""What rules answer, by definition: every moment of every version of every rule looked at, every row of its window.

And the frame of the tests of each query that takes rules: rows and rules in micro-batches, played and compared.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from skyband.engines.local import LocalRun
from skyband.errors import SkybandError
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband.queries.output_modes import table_key

SECOND = 1_000_000
LONGEST, MOST = 12, 4
BY = ("place",)


class Rule(NamedTuple):
    """A row of a table of rules, its times in seconds: window None ends the rule, after None is when it comes."""

    name: str
    window: int | None
    slide: int = 1
    k: int = 1
    after: int | None = None
    until: int | None = None
    group: int | None = None
    """The one that it is for; None: all."""


Step = tuple[int | None, list[Rule], list[tuple]]
"""Up to when all is answered before it, the rules that come then, and the rows that come after them."""


def versions_of(came: list[tuple[int | None, list[Rule]]]) -> list[tuple[str, Rule, int, int]]:
    """(name, rule, begin, end) of each version: it answers later than `begin`, up to `end`.

    came: the tables of rules in the order in which they came, each with the moment up to which all was answered.
    """
    known: dict[tuple[str, int], Rule] = {}
    for answered, rules in came:
        floor = -(10**9) if answered is None else answered
        for rule in rules:
            known[rule.name, max(floor, floor if rule.after is None else rule.after)] = rule
    versions = []
    for (name, begin), rule in known.items():
        later = [other for other_name, other in known if other_name == name and other > begin]
        end = min([10**9 if rule.until is None else rule.until, *later])
        if rule.window is not None:
            versions.append((name, rule, begin, end))
    return versions


def windows_of(
    rows: list[tuple], versions: list[tuple[str, Rule, int, int]], last: int
) -> Iterator[tuple[Any, int, str, Rule, list[tuple]]]:
    """(group, at, name, rule, rows inside) of every moment up to `last` whose window has rows.

    rows: (time, …, group).
    """
    for group in {row[-1] for row in rows}:
        own = [row for row in rows if row[-1] == group]
        first, latest = min(row[0] for row in own), max(row[0] for row in own)
        for name, rule, begin, end in versions:
            if rule.group not in (None, group):
                continue
            for at in range(first, latest + rule.window + 1):
                if at % rule.slide or not begin < at <= end or at > last:
                    continue
                inside = [row for row in own if at - rule.window <= row[0] < at]
                if inside:
                    yield group, at, name, rule, inside


def rules_table(rules: list[Rule], k: bool = True) -> pa.Table:
    """Rules as rows of a table; k: whether they have one. Its column `group` is there where a rule names one."""

    def length(seconds: int | None) -> str | None:
        return None if seconds is None else f"{seconds} seconds"

    def instants(values: list[int | None]) -> pa.Array:
        micros = [None if value is None else value * SECOND for value in values]
        return pa.array(micros, pa.int64()).cast(pa.timestamp("us"))

    groups = [None if rule.group is None else [str(rule.group)] for rule in rules]
    columns = {
        "name": pa.array([rule.name for rule in rules], pa.string()),
        "window": pa.array([length(rule.window) for rule in rules], pa.string()),
        "slide": pa.array([length(rule.slide) for rule in rules], pa.string()),
        **({"k": pa.array([rule.k for rule in rules], pa.int64())} if k else {}),
        **({"group": pa.array(groups, pa.list_(pa.string()))} if any(groups) else {}),
        "after": instants([rule.after for rule in rules]),
        "until": instants([rule.until for rule in rules]),
    }
    return pa.table(columns)


def random_rules(
    random: np.random.Generator,
    now: int,
    live: set[str],
    later: set[str],
    most: int,
    groups: int | None = None,
) -> list[Rule]:
    """A few rules that come together, no two of one name: some new, some changed, some ended.

    live: names that hold on for sure, which alone are ended. later: names that have had a version of a time to come.
    groups: how many there are that rules may be for; None: rules are for all.
    """
    rules = []
    for name in random.choice(list("abcdef"), random.integers(1, 4), replace=False).tolist():
        after = None if random.random() < 0.5 else int(now + random.integers(-3, 10))
        start = now if after is None else max(after, now)
        if after is not None and after > now:
            later.add(name)
        if name in live and random.random() < 0.3:
            rules.append(Rule(name, None, after=after))
            live.discard(name)
            continue
        until = None if random.random() < 0.6 else int(start + random.integers(1, 20))
        window, slide = int(random.integers(1, LONGEST + 1)), int(random.integers(1, 7))
        if random.random() < 0.2:
            window = LONGEST
        group = None if groups is None or random.random() < 0.5 else int(random.integers(0, groups + 1))
        rules.append(Rule(name, window, slide, int(random.integers(1, most + 1)), after, until, group))
        holds_on = until is None and name not in later
        live.add(name) if holds_on else live.discard(name)
    return rules


def random_times(random: np.random.Generator, count: int) -> list[int]:
    """With ties, and silences longer than the longest window."""
    steps = [0, 0, 1, 1, 2, 5, LONGEST + 3]
    return np.cumsum(random.choice(steps, count, p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.04, 0.01])).tolist()


class RulesFrame(ABC):
    """The tests of one query: its rows, its answers, and those that are expected."""

    keys: ClassVar[Mapping[str, Any]]
    """Of the query, without windows."""
    limits: ClassVar[Mapping[str, Any]]
    role: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    """Of the rows, the first one the time in seconds, the last one the group."""
    answer_columns: ClassVar[tuple[str, ...]]
    """After the moment, as far as answers have them."""
    backend: ClassVar[Any] = "exact"
    most: ClassVar[int] = 1
    """The largest k of rules; 1: they have none."""
    groups: ClassVar[int] = 2

    @abstractmethod
    def random_rows(self, random: np.random.Generator, count: int) -> list[tuple]:
        """Rows in order of time, such as `columns` has them."""

    @abstractmethod
    def answers_of(self, windows: Any, **options: Any) -> set[tuple]:
        """The answers of each (group, at, name, rule, rows): group, moment and `answer_columns`."""

    def table_of(self, rows: Sequence[tuple]) -> pa.Table:
        times, *columns = zip(*rows, strict=True)
        ts = pa.array(np.array(times) * SECOND, pa.timestamp("us"))
        return pa.table({"ts": ts, **dict(zip(self.columns[1:], columns, strict=True))})

    def batch_of(self, rows: Sequence[tuple]) -> pa.RecordBatch:
        return self.table_of(rows).combine_chunks().to_batches()[0]

    def rules_table(self, rules: list[Rule]) -> pa.Table:
        return rules_table(rules, k=self.most > 1)

    def started(self, by: Sequence[str] = BY, backend: Any = None, **changes: Any) -> LocalRun:
        query = make_query({**self.keys, **self.limits, "by": list(by), **changes})
        schema = self.table_of(self.random_rows(np.random.default_rng(0), 1)).schema
        chosen = self.backend if backend is None else backend
        return LocalRun(Operator(query, bind(query, schema, {self.role: chosen}), schema))

    def scenario(
        self, seed: int, count: int = 40, batches: int = 6, filtered: bool = False
    ) -> tuple[list[tuple], list[Step]]:
        """Rows in micro-batches, and the rules that come before some of them; filtered: some for one group."""
        random = np.random.default_rng(seed)
        rows = self.random_rows(random, count)
        cuts = [0, *sorted(random.choice(np.arange(1, count), batches - 1, replace=False).tolist()), count]
        answered, live, later, steps = None, set[str](), set[str](), list[Step]()
        for batch in (rows[start:stop] for start, stop in pairwise(cuts)):
            now, groups = 0 if answered is None else answered, self.groups if filtered else None
            come = random_rules(random, now, live, later, self.most, groups) if random.random() < 0.7 else []
            steps.append((answered, come, batch))
            answered = batch[-1][0]
        return rows, steps

    def played(
        self, steps: Sequence[Step], by: Sequence[str] = BY, kill: Sequence[int] = (), **changes: Any
    ) -> list[tuple]:
        """The answers to rules and rows, the run being killed before and after the micro-batches `kill`."""
        return self.plain(self.table_played(steps, by, kill, **changes), by)

    def table_played(
        self, steps: Sequence[Step], by: Sequence[str] = BY, kill: Sequence[int] = (), **changes: Any
    ) -> pa.Table:
        """As `played`, as they come."""
        run, pieces = self.started(by, **changes), []
        for number, (_, rules, batch) in enumerate(steps):
            if rules:
                run.broadcast(self.rules_table(rules))
            run = resumed(run) if number in kill else run
            pieces.append(run.push(self.batch_of(batch)))
            run = resumed(run) if number in kill else run
        return pa.Table.from_batches([*pieces, run.finish()])

    def plain(self, table: pa.Table, by: Sequence[str] = BY) -> list[tuple]:
        at = (table["at"].cast(pa.int64()).to_numpy() // SECOND).tolist()
        groups = table[by[0]].to_pylist() if by else [0] * len(table)
        names = [name for name in self.answer_columns if name in table.column_names]
        return list(zip(groups, at, *(table[name].to_pylist() for name in names), strict=True))

    def expected(self, rows: list[tuple], steps: Sequence[Step], by: Sequence[str] = BY, **options: Any) -> set[tuple]:
        """Up to the first moment of each rule after the last row of any group."""
        versions = versions_of([(answered, rules) for answered, rules, _ in steps if rules])
        latest, found = max(row[0] for row in rows), set[tuple]()
        rows = [(*row[:-1], row[-1] if by else 0) for row in rows]
        for version in versions:
            last = latest + version[1].slide - latest % version[1].slide
            found |= self.answers_of(windows_of(rows, [version], last), **options)
        return found

    def checked(
        self,
        seed: int,
        by: Sequence[str] = BY,
        kill: Sequence[int] = (),
        options: Mapping[str, Any] | None = None,
        size: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> int:
        """The number of answers, which are the expected ones. options: of `answers_of`; size: of `scenario`."""
        rows, steps = self.scenario(seed, **(size or {}))
        got = self.played(steps, by, kill, **changes)
        assert len(got) == len(set(got)), f"seed {seed}: an answer was given twice"
        assert set(got) == self.expected(rows, steps, by, **(options or {})), f"seed {seed}"
        return len(got)

    def followed(
        self,
        seed: int,
        by: Sequence[str] = BY,
        kill: Sequence[int] = (),
        options: Mapping[str, Any] | None = None,
        size: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> int:
        """The number of changes, which applied to an empty table give the answers that stand at each second, and the
        microsecond before and after it."""
        rows, steps = self.scenario(seed, **(size or {}))
        rows = [(*row[:-1], row[-1] if by else 0) for row in rows]
        log = self.table_played(steps, by, kill, answers="changes", **changes)
        query = make_query({**self.keys, **self.limits, "by": list(by), **changes, "answers": "changes"})
        standing = Standing(self, rows, steps, options or {})
        tables = tables_of(log, query)
        names = [name for name in self.answer_columns if name in log.column_names]
        latest, last = max(row[0] for row in rows), (10**9) * SECOND
        seconds = np.arange(min(row[0] for row in rows), latest + 1)
        moments = np.add.outer(seconds * SECOND, [-1, 0, 1]).ravel()[:-1].tolist()
        for time in [*moments, last]:
            table = next((table for at, table in reversed(tables) if at <= time), {})
            there = {(row[by[0]] if by else 0, *(row[name] for name in names)) for row in table.values()}
            wanted = standing.at_the_end(latest) if time == last else standing.at(time)
            assert there == wanted, f"seed {seed}: at {time / SECOND} s"
        return len(log)

    def changed_at_once(self, before: Mapping[str, Any], after: Mapping[str, Any], rows: list[tuple]) -> list[tuple]:
        """The answers to the second half of rows, of a query with other keys that goes on with a state."""
        half = len(rows) // 2
        run = self.started(**before)
        run.push(self.batch_of(rows[:half]))
        changed = make_query({**self.keys, **self.limits, "by": list(BY), **after})
        operator = Operator(changed, run.operator.bindings, run.operator.schema)
        assert not operator.restore(run.operator.snapshot())
        got = pa.Table.from_batches([LocalRun(operator).push(self.batch_of(rows[half:]))])
        return self.plain(got)

    def seen(self, seeds: Sequence[int], **options: Any) -> bool:
        """Whether a seed shows that something is wrong."""

        def fails(seed: int) -> bool:
            try:
                self.checked(seed, **options)
            except (AssertionError, SkybandError):
                return True
            return False

        return any(map(fails, seeds))


def tables_of(log: pa.Table, query: Any) -> list[tuple[int, dict[tuple, dict[str, Any]]]]:
    """The table that a log of changes makes of an empty one, after each of its moments in microseconds."""
    tables: list[tuple[int, dict[tuple, dict[str, Any]]]] = []
    table: dict[tuple, dict[str, Any]] = {}
    answer = [*query.by, *query.separate_answers]
    times = log["at"].cast(pa.int64()).to_pylist()
    for time, row in zip(times, log.drop_columns("at").to_pylist(), strict=True):
        assert not tables or time >= tables[-1][0], "the log goes back"
        change, key = row.pop("change"), tuple(row[name] for name in table_key(query))
        if change == "emptied":
            one = tuple(row[name] for name in answer)
            emptied = [place for place, other in table.items() if tuple(other[name] for name in answer) == one]
            assert len(emptied) == (len(answer) == len(key)), "rows leave, then an answer of several is emptied"
            table = {place: other for place, other in table.items() if place not in emptied}
        elif change == "left":
            table = {place: other for place, other in table.items() if place != key}
        else:
            assert (key in table) == (change == "updated"), (time, change, key)
            assert table.get(key) != row, "a change that changes nothing"
            table = {**table, key: row}
        tables = [*(tables[:-1] if tables and tables[-1][0] == time else tables), (time, table)]
    return tables


class Standing:
    """The answers that stand at a time: of each group and name the last one, while the name has gone on since."""

    def __init__(self, frame: RulesFrame, rows: list[tuple], steps: Sequence[Step], options: Mapping[str, Any]) -> None:
        self._frame, self._rows, self._options = frame, rows, options
        self._versions = versions_of([(answered, rules) for answered, rules, _ in steps if rules])
        self._groups, self._names = {row[-1] for row in rows}, {name for name, *_ in self._versions}

    def at(self, time: int) -> set[tuple]:
        """time: in microseconds."""
        return {row for group in self._groups for name in self._names for row in self._of(group, name, time)}

    def at_the_end(self, latest: int) -> set[tuple]:
        """Of each group and name at the first moment after the last row at which it is answered, or has ended."""
        rows: set[tuple] = set()
        for group in self._groups:
            for name in self._names:
                second = latest
                while self._goes_on(group, name, second) and self._version(group, name, second + 1) is None:
                    second += 1
                rows |= self._of(group, name, (second + 1) * SECOND)
        return rows

    def _version(self, group: Any, name: str, at: int) -> Rule | None:
        """What answers at this moment."""
        own = [one for one in self._versions if one[0] == name and one[1].group in (None, group)]
        return next((rule for _, rule, begin, end in own if begin < at <= end and at % rule.slide == 0), None)

    def _goes_on(self, group: Any, name: str, second: int) -> bool:
        """Whether a version holds from this second on."""
        return any(
            one == name and rule.group in (None, group) and begin <= second < end
            for one, rule, begin, end in self._versions
        )

    def _of(self, group: Any, name: str, time: int) -> set[tuple]:
        for at in range(time // SECOND, min(row[0] for row in self._rows) - 1, -1):
            if at * SECOND < time and not self._goes_on(group, name, at):
                return set()
            rule = self._version(group, name, at)
            if rule is not None:
                inside = [row for row in self._rows if row[-1] == group and at - rule.window <= row[0] < at]
                windows = [(group, at, name, rule, inside)] if inside else []
                return {(row[0], *row[2:]) for row in self._frame.answers_of(windows, **self._options)}
        return set()


def resumed(run: LocalRun) -> LocalRun:
    """The same run, gone on with from a snapshot in a new operator."""
    operator = run.operator
    again = LocalRun(Operator(operator.query, operator.bindings, operator.schema))
    again.restore(run.snapshot())
    assert again.snapshot() == run.snapshot()
    return again


def length_text(seconds: int) -> str:
    """As answers have it in their column window."""
    return f"{seconds} second{'s' if seconds > 1 else ''}"
