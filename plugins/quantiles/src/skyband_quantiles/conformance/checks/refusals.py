"""Impossible input is refused, by name."""

from typing import Any

from skyband_specs.check import Make, check, expect_refused
from skyband_specs.driver import Case

COUNT = 1


@check("bad-input")
def check_wrong_parameters_are_named(make: Make, case: Case) -> None:
    """Impossible parameters are refused, by name."""
    good = make().parameters()
    wrong: list[tuple[str, Any]] = [
        ("longest", 0),
        ("longest", 2**61 + 1),
        ("longest", 1.5),
        ("every", 0),
        ("offset", -1),
        ("cuts", [2.0, 1.0]),
        ("cuts", [1.0, 1.0]),
        ("cuts", [float("nan")]),
        ("cuts", [float("inf")]),
        ("cuts", list(range(61))),
        ("alpha", 0.0),
        ("alpha", 1.0),
        ("epsilon", 0.0001),
        ("delta", 0.0),
        ("by", "days"),
    ]
    for name, value in wrong:
        if name in good:
            expect_refused(make, name, **{name: value})
