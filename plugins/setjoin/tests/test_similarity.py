"""A user's function is accepted iff the bounds hold for it."""

import math
from fractions import Fraction

import pytest
import skyband
from skyband import ConfigError
from skyband_setjoin.compiled_similarity import KINDS, is_compilable, misbehaviour, resolve
from skyband_setjoin.similarity_kernel import similarity
from skyband_specs.pair_ranker.oracle import SIMILARITIES

SIZES = [(o, n, m) for n in (1, 2, 3, 7, 40, 1001) for m in (1, 2, 5, 7, 39, 999) for o in {1, min(n, m)}]


@pytest.mark.parametrize("name", KINDS)
def test_named_similarities_equal_their_definition_to_the_last_bit(name):
    for overlap, n, m in SIZES:
        assert similarity(KINDS[name], None, overlap, n, m) == SIMILARITIES[name](overlap, n, m)


@pytest.mark.parametrize("name", KINDS)
def test_named_similarities_are_well_behaved(name):
    assert misbehaviour(SIMILARITIES[name]) is None


@pytest.mark.parametrize("name", KINDS)
def test_positional_bound_is_never_below_a_similarity(name):
    function = SIMILARITIES[name]
    for n in range(1, 10):
        for m in range(1, 15):
            for remaining in range(1, n + 1):
                for overlap in range(1, min(remaining, m) + 1):
                    assert function(overlap, n, m) <= function(remaining, n, remaining)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda o, n, m: o * (n + m), "must not rise as a set grows"),
        (lambda o, n, m: o / n, "must be symmetric"),
        (lambda o, n, m: 0.5 if o == 1 else 1.0 if o == min(n, m) else 0.25, "must not fall as the overlap grows"),
        (lambda o, n, m: o / (n * m) ** 2, "must not fall as a subset grows"),
        (lambda o, n, m: math.inf, "must be a finite number: f(1, 1, 1) = inf"),
        (lambda o, n, m: "much", "must be a finite number"),
        (lambda o, n, m: o / (n + m - 5), "raises ZeroDivisionError"),
        (lambda o, n, m: {1: 0.5}.get(str(o), 0.5), "cannot compile"),
    ],
)
def test_a_refusal_has_a_counterexample(function, said):
    with pytest.raises(ConfigError, match=r"^similarity: ") as caught:
        skyband.create("pair-ranker", k=1, window=1, similarity=function)
    assert said in str(caught.value)


def test_an_own_function_ranks():
    ranker = skyband.create("pair-ranker", k=5, window=10, similarity=lambda o, n, m: o / min(n, m))
    ranker.update([0, 1, 2], [0, 3, 4, 6], [1, 2, 3, 3, 3, 4])
    assert [column.tolist() for column in ranker.top()] == [[0, 1, 0], [1, 2, 2], [1.0, 1.0, 0.5]]


def test_a_function_is_compiled_once():
    def shared(overlap, n, m):
        return overlap / (n + m)

    assert resolve(shared)[1] is resolve(shared)[1]


def test_functions_that_numba_cannot_compile_are_left_to_python_backends():
    def exactly(overlap, n, m):
        return float(Fraction(overlap, n + m))

    assert misbehaviour(exactly) is None
    assert not is_compilable(exactly)
    assert is_compilable("jaccard")
    assert is_compilable(lambda overlap, n, m: overlap / (n + m))
