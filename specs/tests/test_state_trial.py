"""Mutated states: the same each time, and what a backend does with one is reported, even a crash or a hang."""

import signal
from itertools import islice

import numpy as np
import pytest
from skyband_specs.runner import subject
from skyband_specs.state_mutations import mutations
from skyband_specs.state_trial import Budget, fault

ARRAYS = {
    "keys": np.arange(9, dtype=np.uint64),
    "times": np.arange(9) - 4,
    "scores": np.linspace(0, 1, 9),
    "bytes": np.arange(40, dtype=np.uint8),
    "none": np.empty(0, np.int32),
}


def bits(state):
    return {name: (array.dtype.str, array.tobytes()) for name, array in state.items()}


def test_mutations_are_equal_for_equal_seeds_and_differ_for_others():
    one, same, other = ([bits(state) for _, state in islice(mutations(ARRAYS, seed), 50)] for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_mutations_keep_names_and_types_and_all_change_something():
    before = bits(ARRAYS)
    states = [state for _, state in islice(mutations(ARRAYS, 1), 500)]
    for state in states:
        assert {name: array.dtype for name, array in state.items()} == {n: a.dtype for n, a in ARRAYS.items()}
    assert bits(ARRAYS) == before
    assert all(bits(state) != before for state in states)


def test_every_kind_of_change_occurs_soon():
    how = " ".join(said for said, _ in islice(mutations(ARRAYS, 1), 200))
    kinds = ("flipped", "swapped", "as entry", "= ", "all entries", "moved", "shuffled", "reversed", "cut to", "longer")
    assert all(kind in how for kind in (*kinds, "nan", "1000000", "removed"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Crashing", "crashes with SIG"),
        ("Failing", "IndexError: no such place"),
        ("Unwritable", "IndexError: no such place"),
        pytest.param(
            "Hanging",
            "hangs for 2 s",
            marks=pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the child cannot be told to end itself"),
        ),
    ],
)
def test_harm_is_told_with_the_state_that_did_it(name, said, harmful, toy_info):
    found = fault(subject(toy_info, harmful[name]).cases[0], Budget(states=60, seed=1, seconds=2))
    assert found is not None
    assert found.startswith(said)
    assert "on the state with number: " in found


def test_a_sketch_that_checks_its_state_takes_no_harm(toy_case):
    assert fault(toy_case, Budget(states=60, seed=1)) is None
