"""Every installed backend, with all its parameter sets: thousands of changed states are refused or work."""

import pytest
from skyband.registry import installed, load_class
from skyband_specs.runner import subject
from skyband_specs.state_trial import Budget, fault

MANY = 2000
ENTRIES = [entry for entry in installed().listing() if entry.problem is None]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.info.key for entry in ENTRIES])
def test_thousands_of_changed_states_are_refused_or_work(entry):
    cases = subject(entry.info, load_class(entry.info)).cases
    found = {str(case): fault(case, Budget(MANY // len(cases), seed=7)) for case in cases}
    assert not {case: harm for case, harm in found.items() if harm is not None}
