"""A user's similarity with a value that is not finite ends the call, and nothing is ranked by it."""

import math
import types

import numpy as np
import pytest
import skyband
from skyband import BrokenError, ConfigError

WIDE = 1500
"""More tokens than any size that a function is tried on."""


def is_nan(overlap, n, m):
    return math.nan if n > 1400 or m > 1400 else overlap / (n + m - overlap)


def is_infinite(overlap, n, m):
    return math.inf if n > 1400 or m > 1400 else overlap / (n + m - overlap)


def raises(overlap, n, m):
    if n > 1400:
        raise ValueError("too many")
    if m > 1400:
        raise ValueError("too many")
    return overlap / (n + m - overlap)


OFFSETS = [0, 3, WIDE + 3]
TOKENS = np.concatenate([np.arange(3), np.arange(WIDE)])


@pytest.mark.parametrize("own", [is_nan, is_infinite, raises], ids=lambda own: own.__name__)
@pytest.mark.parametrize("name", ["base", "scase", "swoop"])
def test_pairs_are_not_ranked_by_it(name, own):
    fresh = types.FunctionType(own.__code__, own.__globals__)
    ranker = skyband.create("pair-ranker", name, k=3, window=100, similarity=fresh)
    with pytest.raises(ConfigError, match=r"for sets of \d+ and \d+ tokens that share \d+, (is|raises) ") as error:
        ranker.update([0, 1], OFFSETS, TOKENS)
    assert f"{WIDE}" in str(error.value)
    with pytest.raises(BrokenError):
        ranker.top()


@pytest.mark.parametrize("own", [is_nan, raises], ids=lambda own: own.__name__)
@pytest.mark.parametrize("name", ["prefix", "inverted", "scan-count"])
def test_sets_are_not_matched_by_it(name, own):
    fresh = types.FunctionType(own.__code__, own.__globals__)  # a refusal is remembered for the function
    matcher = skyband.create("set-matcher", name, threshold=0.0001, window=100, similarity=fresh)
    with pytest.raises(ConfigError, match=f"{WIDE}"):
        matcher.update([0, 1], OFFSETS, TOKENS)


@pytest.mark.parametrize("name", ["prefix", "inverted", "scan-count"])
def test_values_for_sizes_that_no_set_has_are_ignored(name):
    """A search for bounds tries sets of any size."""
    matcher = skyband.create("set-matcher", name, threshold=0.5, window=100, similarity=raises)
    cuts, _, similarity = matcher.update([0, 1], [0, 3, 6], [1, 2, 3, 2, 3, 4])
    assert similarity.tolist() == [0.5]
    assert cuts.tolist() == [0, 0, 1]


def jaccard(overlap, n, m):
    return overlap / (n + m - overlap)


def test_a_valid_function_answers_like_the_named_one():
    own, named = (
        skyband.create("pair-ranker", "swoop", k=3, window=100, similarity=each) for each in (jaccard, "jaccard")
    )
    for ranker in (own, named):
        ranker.update([0, 1], OFFSETS, TOKENS)
    assert [list(each) for each in own.top()] == [list(each) for each in named.top()]
