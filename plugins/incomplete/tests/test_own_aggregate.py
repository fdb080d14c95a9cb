"""A user's aggregate with a value that is not finite ends the call, and nothing is ranked by it."""

import math

import numpy as np
import pytest
import skyband
from skyband import BrokenError, ConfigError
from skyband_incomplete.top_k.small_groups import CalledScores

RARE = 0.123456789
"""A value that no function is tried on."""


def is_nan(values):
    return math.nan if RARE in values else float(np.sum(values))


def is_infinite(values):
    return math.inf if RARE in values else float(np.sum(values))


def raises(values):
    if RARE in values:
        raise ValueError("that one")
    return float(np.sum(values))


@pytest.mark.parametrize("own", [is_nan, is_infinite, raises], ids=lambda own: own.__name__)
@pytest.mark.parametrize("repeats", [1, "latest"])
@pytest.mark.parametrize("name", ["sla", "eaa"])
def test_objects_are_not_ranked_by_it(name, own, repeats):
    ranker = skyband.create("object-ranker", name, k=2, window=10, streams=2, aggregate=own, repeats=repeats)
    with pytest.raises(ConfigError, match=r"aggregate: .*0\.123456789"):
        ranker.update([0, 1, 2], np.array([0, 1, 0], np.int32), [1, 1, 2], [0.5, RARE, 0.25])
        ranker.top()
    with pytest.raises(BrokenError):
        ranker.top()


@pytest.mark.parametrize("own", [is_nan, is_infinite, raises], ids=lambda own: own.__name__)
def test_objects_of_small_groups_are_not_either(own):
    with pytest.raises(ConfigError, match=r"aggregate: .*0\.123456789"):
        CalledScores(own, 2).evaluate(np.array([[0.5, RARE], [0.5, 0.5]]))
