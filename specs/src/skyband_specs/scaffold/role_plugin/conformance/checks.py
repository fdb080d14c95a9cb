"""The checks that only the role mine has."""

import math
from collections.abc import Callable

from skyband_specs.check import check, expect
from skyband_specs.driver import Case

from skyband_specs.scaffold.role_plugin.role import MineRole

COUNT = 1


@check("edges")
def check_nothing_has_no_mean(make: Callable[[], MineRole], case: Case) -> None:
    """Without rows the mean is NaN."""
    expect(math.isnan(make().mean(0)), "a mean of nothing")
