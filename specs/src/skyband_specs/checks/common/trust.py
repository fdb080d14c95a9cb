"""A state from an untrusted source does no harm: it is refused, or gives a working backend."""

import os

from skyband_specs.check import Make, check, expect
from skyband_specs.driver import Case
from skyband_specs.state_trial import Budget, fault

COUNT = 1

STATES = "SKYBAND_SPECS_STATES"
"""The environment variable with the number of mutated states to try."""

_FEW = 100


@check("snapshot", needs=("snapshot",), once=True)
def check_mutated_states_are_refused_or_work(make: Make, case: Case) -> None:
    """A state with changed arrays and a valid checksum raises SnapshotError or gives a working backend.

    100 states, in their own process: a crash or a hang fails the check. The environment can set more:
    `SKYBAND_SPECS_STATES=10000`.
    """
    wrong = fault(case, Budget(states=int(os.environ.get(STATES, _FEW)), seed=1))
    expect(wrong is None, f"a mutated state does harm: {wrong}")
