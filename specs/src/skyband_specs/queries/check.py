"""The vocabulary of a query's checks: `@query_check` marks a function of a case; `equal_answers` makes it fail."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from skyband_specs.check import brief, expect, shortened
from skyband_specs.counterexample import Counterexample, shrink
from skyband_specs.queries.case import QueryCase, lines

GROUPS = ("schema", "oracle", "batches", "order", "left-out", "groups", "memory", "shards", "snapshot", "engine")
SECONDS = 0.5
"""How long to search for fewer rows that fail."""

Body = Callable[[QueryCase], None]


class NotApplicable(Exception):  # noqa: N818 - not a fault
    """This check does not apply to this query, for a reason."""


@frozen(eq=False)
class QueryCheck:
    """One requirement of queries: a function that raises AssertionError where it is not met.

    of_all: it takes the list of the cases of all examples.
    """

    body: Callable[[Any], None]
    group: str
    of_all: bool = False
    name: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        if self.group not in GROUPS or not self.body.__name__.startswith("check_"):
            raise ValueError(f"{self.body.__name__}: must be called check_… and belong to one of {GROUPS}")
        object.__setattr__(self, "name", self.body.__name__.removeprefix("check_"))

    def __call__(self, case: "QueryCase | tuple[QueryCase, ...]") -> None:
        """Run it on one case, or on all."""
        self.body(case)


def query_check(group: str) -> Callable[[Body], QueryCheck]:
    """Mark a function `check_something(case)` as a check of `group`."""
    return lambda body: QueryCheck(body, group)


def check_of_all(group: str) -> Callable[[Callable[[tuple[QueryCase, ...]], None]], QueryCheck]:
    """Mark a function `check_something(cases)` as a check of `group` that takes all examples together."""
    return lambda body: QueryCheck(body, group, of_all=True)


def equal_answers(got: pa.Table, expected: pa.Table, what: str) -> None:
    """Fail the running check unless both have the same rows, in any order."""
    mine, theirs = lines(got), lines(expected)
    if mine != theirs:
        extra, missing = ([row for row in one if row not in set(two)] for one, two in ((mine, theirs), (theirs, mine)))
        differences = [
            *(f"too many: {brief(row)}" for row in extra[:2]),
            *(f"missing: {brief(row)}" for row in missing[:2]),
        ]
        raise AssertionError(f"{what}: {'; '.join(differences) or f'{len(mine)} answers, not {len(theirs)}'}")


def holds(case: QueryCase, law: Callable[[pa.Table], None], rows: pa.Table | None = None) -> None:
    """Try `law(rows)` on the example's rows; if it raises, search for fewer rows that fail, and raise with those."""
    table = case.rows if rows is None else rows
    error = _failure(law, table)
    if error is None:
        return
    fewest = shrink(_Rows(table), partial(_fails_alike, law, type(error)), SECONDS).table
    failure = _failure(law, fewest) or error
    reason = (
        str(failure) if isinstance(failure, AssertionError) else f"{type(failure).__name__}: {shortened(str(failure))}"
    )
    columns = [
        name for name in fewest.column_names if name in case.query().columns or name not in case.rows.column_names
    ]
    rows_text = "\n".join(map(repr, fewest.select(columns).slice(0, 20).to_pylist()))
    raise Counterexample(reason, f"{len(fewest)} rows fail:\n{rows_text}") from failure


def expect_answers(answers: pa.Table, case: QueryCase) -> None:
    """Fail if an example has no answer at all: checks on it would be meaningless."""
    expect(len(answers) > 0, f"the example has no answer; give it more rows ({len(case.rows)} now)")


@frozen(eq=False)
class _Rows:
    """A table that can be shortened like a stream."""

    table: pa.Table

    def __len__(self) -> int:
        return len(self.table)

    def take(self, places: np.ndarray) -> "_Rows":
        return _Rows(self.table.take(pa.array(places)))


def _failure(law: Callable[[pa.Table], None], rows: pa.Table) -> Exception | None:
    try:
        law(rows)
    except NotApplicable:
        raise
    except Exception as error:  # a crash fails the check too
        return error
    return None


def _fails_alike(law: Callable[[pa.Table], None], kind: type[Exception], rows: _Rows) -> bool:
    return isinstance(_failure(law, rows.table), kind)
