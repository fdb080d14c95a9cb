"""The answers are right, if the author provides an oracle."""

import math
from typing import Any

import pyarrow as pa

from skyband_specs.check import brief
from skyband_specs.queries.case import QueryCase, random_cuts
from skyband_specs.queries.check import NotApplicable, holds, query_check

COUNT = 1
_ALIKE = 1e-9


@query_check("oracle")
def check_answers_are_those_of_the_oracle(case: QueryCase) -> None:
    """The answers to the example's rows are exactly those of its `oracle`."""
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


def _same(got: Any, expected: Any) -> bool:
    if isinstance(got, dict) and isinstance(expected, dict):
        return got.keys() == expected.keys() and all(_same(got[name], expected[name]) for name in got)
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(map(_same, got, expected))
    if isinstance(got, float) and isinstance(expected, float | int):
        both_nan = math.isnan(got) and math.isnan(expected)
        return both_nan or got == expected or math.isclose(got, expected, rel_tol=_ALIKE, abs_tol=_ALIKE)
    return bool(got == expected)
