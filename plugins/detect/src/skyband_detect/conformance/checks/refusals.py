"""Impossible parameters are refused, by name."""

from typing import Any

from skyband_specs.check import Make, check, expect_refused
from skyband_specs.driver import Case

COUNT = 1


@check("bad-input")
def check_wrong_parameters_are_named(make: Make, case: Case) -> None:
    """Impossible parameters are refused, by name."""
    wrong: list[tuple[str, Any]] = [
        ("measure", "sum"),
        ("longest", 0),
        ("longest", 2**61 + 1),
        ("longest", 1.5),
        ("most", 0),
        ("most", 2**24 + 1),
    ]
    for name, value in wrong:
        expect_refused(make, name, **{name: value})
