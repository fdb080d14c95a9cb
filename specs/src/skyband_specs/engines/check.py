"""The vocabulary of the checks of engines: `@engine_check` marks a function of a trial and a query."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from attrs import field, frozen
from skyband.instants import python_values

from skyband_specs.check import brief
from skyband_specs.engines.cases import BY, CHANGES, PLAIN, RULES
from skyband_specs.engines.trial import EngineCase, EngineTrial, InProcessTrial

ALL = (PLAIN, BY, CHANGES, RULES)
ANSWERS = "answers"
"""Checks for any engine: all examples, each sort of query."""
KILLS = "kills"
GROUPS = (ANSWERS, "steps", "rows", "state", KILLS)

Body = Callable[[Any, EngineCase], None]


@frozen(eq=False)
class EngineCheck:
    """One requirement of engines, and the sorts of queries to try it on."""

    body: Body
    group: str
    sorts: tuple[str, ...]
    name: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        if self.group not in GROUPS or not self.body.__name__.startswith("check_"):
            raise ValueError(f"{self.body.__name__}: must be called check_… and belong to one of {GROUPS}")
        object.__setattr__(self, "name", self.body.__name__.removeprefix("check_"))

    def says_something_of(self, trial: EngineTrial) -> bool:
        """Only the answers of an engine in another process can be checked."""
        return self.group == ANSWERS or isinstance(trial, InProcessTrial)

    def __call__(self, trial: EngineTrial, case: EngineCase) -> None:
        """Run it on one query."""
        self.body(trial, case)


def engine_check(group: str, *sorts: str) -> Callable[[Body], EngineCheck]:
    """Mark a function `check_something(trial, case)` as a check of `group`, for all sorts of queries or these."""
    return lambda body: EngineCheck(body, group, sorts or ALL)


def equal_rows(got: pa.Table, expected: pa.Table, what: str) -> None:
    """Fail the running check unless both have the same columns, and exactly the same rows in the same order."""
    if got.schema != expected.schema:
        raise AssertionError(f"{what}: the columns are {brief(got.schema)}, not {brief(expected.schema)}")
    here, there = ([repr(row) for row in _rows(table)] for table in (got, expected))
    if here == there:
        return
    first = next((place for place, (one, other) in enumerate(zip(here, there, strict=False)) if one != other), None)
    if first is None:
        raise AssertionError(f"{what}: {len(here)} rows, not {len(there)}")
    raise AssertionError(f"{what}: row {first} is {brief(here[first])}, not {brief(there[first])}")


def _rows(table: pa.Table) -> list[Any]:
    """Rows that may have times without a name in Python."""
    return list(zip(*map(python_values, table.columns), strict=True))
