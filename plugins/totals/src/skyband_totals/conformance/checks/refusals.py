"""Invalid input is refused by name, and changes nothing."""

from typing import Any

import numpy as np
from skyband import InputError
from skyband_specs.check import Make, check, expect, expect_equal, expect_refused
from skyband_specs.driver import Case

COUNT = 2


@check("bad-input", guarantees=("exact",))
def check_a_total_beyond_64_bits_is_refused(make: Make, case: Case) -> None:
    """Weights whose sum over the longest window would exceed 64 bits are refused; expired rows make room."""
    if case.parameters.get("total") != "sum":
        return
    heavy, step = 2.0**53, make().longest
    for cut in (1, 700, 2100):
        backend = make()
        weights = np.full(1023, heavy * backend.unit)
        for round_ in range(3):  # 2^63 − 2^53 fit, and again when the first have expired
            for start in range(0, 1023, cut):
                part = weights[start : start + cut]
                backend.update(np.full(len(part), 2 * round_ * step), np.arange(len(part)), weights=part)
        before = backend.snapshot() if case.has("snapshot") else b""
        try:
            backend.update([4 * step], [1], weights=[heavy * backend.unit])
        except InputError as error:
            expect("64 bits" in str(error), f"the error does not say why: {error}")
            expect_equal(backend.snapshot() if case.has("snapshot") else b"", before, "after the refused update")
            continue
        raise AssertionError("a total beyond 64 bits was accepted")


@check("bad-input")
def check_wrong_parameters_are_named(make: Make, case: Case) -> None:
    """Invalid parameters are refused by name."""
    wrong: list[tuple[str, Any]] = [
        ("k", 0),
        ("every", 0),
        ("share", 0.0),
        ("share", 1.5),
        ("share", float("nan")),
        ("at_least", 0.0),
        ("at_least", float("nan")),
        ("unit", 0.0),
        ("unit", float("inf")),
        ("total", "mean"),
        ("windows", []),
        ("windows", "10"),
    ]
    for name, value in wrong:
        expect_refused(make, name, **{name: value})
    expect_refused(make, "k", k=None, share=None, at_least=None)
    expect_refused(make, "windows[1]", windows=[5, 0])
