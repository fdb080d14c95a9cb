"""A state that anyone may have written does no harm: it is refused, or gives a backend that works."""

import os

from skyband_specs.check import Make, check, expect
from skyband_specs.driver import Case
from skyband_specs.state_trial import Budget, fault

COUNT = 1

STATES = "SKYBAND_SPECS_STATES"
"""In the environment: how many mutated states to try."""

_FEW = 100


@check("snapshot", needs=("snapshot",), once=True)
def check_mutated_states_are_refused_or_work(make: Make, case: Case) -> None:
    """A state whose arrays were changed, with a right checksum, raises SnapshotError or gives a backend that works.

    100 states, in a process of their own: a crash or a hang is a failure of the check. More of them where the
    environment says so: `SKYBAND_SPECS_STATES=10000`.
    """
    wrong = fault(case, Budget(states=int(os.environ.get(STATES, _FEW)), seed=1))
    expect(wrong is None, f"a mutated state does harm: {wrong}")
