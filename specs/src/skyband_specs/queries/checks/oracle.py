"""The answers are right, if the author provides an oracle."""

import math
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from skyband_specs.check import brief
from skyband_specs.queries.case import QueryCase, random_cuts, with_large_numbers
from skyband_specs.queries.check import NotApplicable, holds, query_check

COUNT = 1
_ALIKE = 1e-9
_SIXTY_YEARS = timedelta(days=21_915)


@query_check("oracle")
def check_answers_are_those_of_the_oracle(case: QueryCase) -> None:
    """The answers are exactly those of its `oracle`: to the example's rows, and to those of sixty years before.

    The latter have numbers beyond 32 bits, where the query takes them.
    """
    oracle = case.example.oracle
    if oracle is None:
        raise NotApplicable("the examples have no oracle, a function from rows to answers")

    def law(rows: pa.Table) -> None:
        got, expected = case.answers(rows, random_cuts(8, len(rows))).to_pylist(), list(oracle(rows.to_pylist()))
        for answer in got:
            match = next((one for one in expected if _same(answer, one)), None)
            if match is None:
                raise AssertionError(f"by the oracle, too many: {brief(answer)}")
            expected.remove(match)
        if expected:
            raise AssertionError(f"by the oracle, missing: {brief(expected[0])}")

    holds(case, law)
    holds(case, law, with_large_numbers(_long_ago(case.rows, case.query().time), case.query()))


def _long_ago(rows: pa.Table, time: str) -> pa.Table:
    """The same rows in the years before 1970."""
    place = rows.column_names.index(time)
    moved = pc.subtract(rows.column(place), pa.scalar(_SIXTY_YEARS))
    return rows.set_column(place, rows.schema.field(place), moved.cast(rows.schema.field(place).type))


def _same(got: Any, expected: Any) -> bool:
    if isinstance(got, dict) and isinstance(expected, dict):
        return got.keys() == expected.keys() and all(_same(got[name], expected[name]) for name in got)
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(map(_same, got, expected))
    if isinstance(got, float) and isinstance(expected, float | int):
        both_nan = math.isnan(got) and math.isnan(expected)
        return both_nan or got == expected or math.isclose(got, expected, rel_tol=_ALIKE, abs_tol=_ALIKE)
    return bool(got == expected)
