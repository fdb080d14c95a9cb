"""Plays a random stream through the local engine, and compares its answers with an oracle's after every batch."""

import math
from random import Random
from typing import Any

import pyarrow as pa
from skyband.engines.local import LocalRun

from .streams import SECOND, Oracle, Row


class Difference(AssertionError):
    """The engine and the oracle differ."""


def play(make: type[Oracle], seed: int) -> int:
    """Play the stream of a seed, sometimes resumed from a snapshot. Returns how many steps were compared."""
    random = Random(seed)
    oracle = make(random)
    rows, schema, most = oracle.stream(), pa.schema(oracle.types), random.choice((1, 4, 15, 60))
    table = Table(oracle) if oracle.query.get("answers") == "changes" else None
    run, arrivals, steps = LocalRun.start(oracle.query, schema, oracle.backends), Arrivals(oracle), 0
    try:
        while rows or arrivals.newest is not None:
            batch, ending, before = rows[: random.randint(1, most)], not rows, arrivals.watermark
            del rows[: len(batch)]
            late, unused = arrivals.take(batch)
            until = oracle.end(arrivals.newest) if ending else arrivals.watermark
            got = oracle.read(run.finish() if ending else run.push(batch_of(batch, schema)))
            expected = list(oracle.answers(arrivals.kept, before, until))
            if table is None:
                compare(got, expected)
            else:
                table.compare(got, expected, before, until)
            metrics = run.take_metrics()
            dropped = unused if oracle.reports_answered_rows else sum(metrics.dropped.values())
            if (metrics.rows_late, dropped) != (late, unused):
                raise Difference(f"of {len(batch)} rows {late} are late and {unused} of no use, but {metrics}")
            steps += 1
            if ending:
                break
            if random.random() < 0.1:
                state, run = run.snapshot(), LocalRun.start(oracle.query, schema, oracle.backends)
                run.restore(state)
    except Exception as error:
        error.add_note(f"{oracle.query} {oracle.backends}")
        raise
    return steps


class Arrivals:
    """Which rows are used, which are late, and where the watermark is, as the page on time says."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.kept: list[Row] = []
        self.newest: int | None = None
        self.earliest = math.inf
        self.watermark = -math.inf
        self.reached: dict[Any, float] = dict.fromkeys(oracle.sources or [None], -math.inf)

    def take(self, batch: list[Row]) -> tuple[int, int]:
        """Take in a batch. Returns how many rows are late, and how many are left out for their content."""
        oracle = self.oracle
        usable = [row for row in batch if row["ts"] is not None and oracle.keeps(row)]
        if oracle.sources:
            usable = [row for row in usable if row["src"] is not None]
        if oracle.ahead is not None and usable:
            usable.sort(key=lambda row: row["ts"])
            reach = usable[0]["ts"] if self.newest is None else self.newest
            for row in usable:
                if row["ts"] <= reach + oracle.ahead:
                    reach = max(reach, row["ts"])
            usable = [row for row in usable if row["ts"] <= reach]
        on_time = [row for row in usable if row["ts"] >= self.watermark]
        for row in usable:
            source = row["src"] if oracle.sources else None
            self.reached[source] = max(self.reached[source], row["ts"])
            self.newest = row["ts"] if self.newest is None else max(self.newest, row["ts"])
            self.earliest = min(self.earliest, row["ts"])
        self.kept += on_time
        self.watermark = max(self.watermark, self.slowest() - oracle.delay)
        return len(usable) - len(on_time), len(batch) - len(usable)

    def slowest(self) -> float:
        """How far the source has come that is furthest behind, of those that are waited for."""
        idle = self.oracle.idle
        if idle is None or self.newest is None:
            return min(self.reached.values())
        places = [max(place, self.earliest) for place in self.reached.values()]  # one without rows is at the earliest
        return min(place for place in places if self.newest - place <= idle)


def batch_of(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as Arrow, times from seconds."""
    columns = []
    for field in schema:
        values = [row[field.name] for row in rows]
        if pa.types.is_timestamp(field.type):
            micros = pa.array([None if each is None else each * SECOND for each in values], pa.int64())
            columns.append(micros.cast(pa.timestamp("us")).cast(pa.timestamp(field.type.unit)).cast(field.type))
        else:
            columns.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def compare(got: list[Row], expected: list[Row], context: str = "") -> None:
    """Raise Difference unless these are the same answers, in any order."""
    left, right = sorted(got, key=_place), sorted(expected, key=_place)
    if len(left) == len(right) and all(map(_same, left, right)):
        return
    extra = [row for row in left if not any(_same(row, other) for other in right)]
    missing = [row for row in right if not any(_same(other, row) for other in left)]
    raise Difference(f"{context}only the engine has {extra[:3]}, only the oracle {missing[:3]}")


def _place(row: Row) -> list[str]:
    values = [row[name] for name in sorted(row)]
    return [f"{value:.6g}" if isinstance(value, int | float) else repr(value) for value in values]


def _same(got: Any, expected: Any) -> bool:
    """Whether two rows or values are equal, floats up to rounding."""
    if isinstance(got, dict):
        return got.keys() == expected.keys() and all(_same(got[name], expected[name]) for name in got)
    if isinstance(got, int | float) and isinstance(expected, int | float):
        return got == expected or math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-9)
    return bool(got == expected)


class Table:
    """A table to which a log of changes is applied, row by row, as the page on changes says."""

    def __init__(self, oracle: Oracle) -> None:
        several = bool(oracle.by) and isinstance(oracle.by[0], list)
        names = {name for each in oracle.by for name in each} | {"grouping"} if several else set(oracle.by)
        self.outer = sorted(names) + list(oracle.answer_of)
        self.key = [*self.outer, *oracle.key]
        self.moments = oracle.after
        self.step = oracle.every
        self.rows: dict[tuple[Any, ...], Row] = {}

    def compare(self, got: list[Row], expected: list[Row], before: float, until: float) -> None:
        """Compare the table with the answer at each moment."""
        known = [row["at"] for row in (*got, *expected)]
        if not known and before == -math.inf:
            return
        start = min(known) if before == -math.inf else self.moments(before)
        left = [row for row in got if not start <= row["at"] <= until]
        if left:
            raise Difference(f"changes at no moment: {left[:3]}")
        for at in range(int(start), int(until) + 1, self.step):
            for row in got:
                if row["at"] == at:
                    self.apply({name: row[name] for name in row if name not in ("at", "change")}, row["change"])
            answer = [{name: row[name] for name in row if name != "at"} for row in expected if row["at"] == at]
            compare(list(self.rows.values()), answer, f"the table at {at}: ")

    def apply(self, row: Row, change: str) -> None:
        """Apply one row of the log, which must fit the table."""
        place = tuple(row[name] for name in self.key)
        known = self.rows.get(place)
        if change == "emptied":
            outer = tuple(row[name] for name in self.outer)
            rest = [each for each in self.rows if each[: len(outer)] == outer]
            for each in rest:
                del self.rows[each]
            fits = len(rest) == (len(self.key) == len(self.outer))
        elif change == "left":
            fits = known is not None and _same(self.rows.pop(place), row)
        else:
            fits = (known is None) == (change == "entered") and known != row
            self.rows[place] = row
        if not fits:
            raise Difference(f"{change} does not fit {known}: {row}")
