"""The vocabulary of a query's checks: `@query_check` tags a function of a case; `equal_answers` fails it."""

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
"""How long to look for fewer rows that fail."""

Body = Callable[[QueryCase], None]


class NotApplicable(Exception):  # noqa: N818 - no fault
    """This check says nothing of this query, for a reason."""


@frozen(eq=False)
class QueryCheck:
    """One thing a query must do: a function that raises AssertionError where it does not.

    of_all: it looks at the cases of all examples together, and is given the list of them.
    """

    body: Callable[[Any], None]
    group: str
    of_all: bool = False
    name: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        if self.group not in GROUPS or not self.body.__name__.startswith("check_"):
            raise ValueError(f"{self.body.__name__}: must be called check_… and be of one of {GROUPS}")
        object.__setattr__(self, "name", self.body.__name__.removeprefix("check_"))

    def __call__(self, case: "QueryCase | tuple[QueryCase, ...]") -> None:
        """Run it on one case, or on all."""
        self.body(case)


def query_check(group: str) -> Callable[[Body], QueryCheck]:
    """Tag a function `check_something(case)` as a check of `group`."""
    return lambda body: QueryCheck(body, group)


def check_of_all(group: str) -> Callable[[Callable[[tuple[QueryCase, ...]], None]], QueryCheck]:
    """Tag a function `check_something(cases)` as a check of `group` that looks at all examples together."""
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
    """Try `law(rows)` on the example's rows; where it raises, on fewer of them, and raise with the fewest found."""
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
    """Fail where an example has no answer at all: checks of it would say nothing."""
    expect(len(answers) > 0, f"the example has no answer; give it more rows ({len(case.rows)} now)")


@frozen(eq=False)
class _Rows:
    """A table that can be shortened as a stream is."""

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
    except Exception as error:  # a query that crashes fails its check like one that is wrong
        return error
    return None


def _fails_alike(law: Callable[[pa.Table], None], kind: type[Exception], rows: _Rows) -> bool:
    return isinstance(_failure(law, rows.table), kind)
