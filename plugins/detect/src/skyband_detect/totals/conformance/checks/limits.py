"""Impossible parameters are refused by name, and large sums are exact up to their limit."""

import numpy as np
from skyband.errors import InputError
from skyband_specs.check import Make, check, expect, expect_equal, expect_refused
from skyband_specs.driver import Case

from skyband_detect.total_role import FULL, QUANTILE, SUM

COUNT = 2


@check("bad-input")
def check_wrong_limits_are_named(make: Make, case: Case) -> None:
    """Impossible parameters are refused, by name."""
    for name, value in (
        ("measure", "count"), ("longest", 0), ("longest", 2**61 + 1), ("longest", 1.5), ("limit", float("nan")),
    ):  # fmt: skip
        expect_refused(make, name, **{name: value})


@check("edges")
def check_sums_are_exact_up_to_their_limit(make: Make, case: Case) -> None:
    """Sums of 2^61 are exact to one unit; what was forgotten counts no more; beyond 2^62 is refused."""
    backend = make(longest=10)
    if backend.measure == QUANTILE:
        return
    huge, key = FULL // 4 + 1, np.zeros(1, np.uint64)
    further = {} if backend.measure == SUM else {"least": [2, 2]}
    for time in range(0, 400, 10):
        for offset, value in ((1, huge), (2, -3)):
            bounds = [huge - 3, huge - 2] if backend.measure == SUM else [(huge - 3) // 2, (huge - 3) // 2 + 1]
            reached = backend.update(
                [time + offset], key, [value], windows=[10, 10], at_least=bounds, each=[True, True], **further
            )
        expect_equal(reached.value.tolist(), [huge - 3], f"the sum at {time + offset}")
        expect_equal(reached.asks.tolist(), [0], f"the bounds reached at {time + offset}")
    try:
        backend.update([500, 501], [1, 2], [FULL // 2, FULL // 2 + 1])
    except InputError as error:
        expect("unit" in str(error), "the remedy is missing")
        return
    raise AssertionError("sums beyond 2^62 were taken")
