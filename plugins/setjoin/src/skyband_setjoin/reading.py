"""Reads and checks the state of a pair ranker or a set matcher: its sets and its pairs."""

from typing import NamedTuple

import numpy as np
from skyband.arrays import Float64, Int8, Int64
from skyband.roles import PairRanker
from skyband.state_validation import StateReader

from skyband_setjoin.set_matcher import SetMatcher


class HeldSets(NamedTuple):
    """The valid sets, oldest first: set i has tokens[offsets[i]:offsets[i + 1]]."""

    times: Int64
    offsets: Int64
    tokens: Int64
    sides: Int8


class Pairs(NamedTuple):
    """Pairs of sets, by their numbers."""

    left: Int64
    right: Int64
    similarities: Float64


def read_sets(state: StateReader, ranker: PairRanker | SetMatcher) -> HeldSets:
    """The sets in a state of `ranker`, whose `now` is set."""
    now, by_rows = ranker.now, ranker.by == "rows"
    latest = -(2**63) - 1 if now is None else now - by_rows
    times = state.ascending("times", strictly=by_rows, at_most=latest)
    tokens = state.column("tokens", np.int64)
    sizes = state.sizes("sizes", len(times), len(tokens))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    rising = np.append(True, tokens[1:] > tokens[:-1])
    rising[offsets[:-1][sizes > 0]] = True
    state.require(bool(rising[: len(tokens)].all()), "tokens", "must be ascending and distinct within a set")
    sides = state.column("sides", np.int8, len(times), at_least=0, at_most=ranker.sides - 1)
    return HeldSets(times, offsets, tokens, sides)


def read_pairs(state: StateReader, sets: HeldSets, first: int, sides: int) -> Pairs:
    """The pairs in a state whose `sets` are numbered from `first` on."""
    last = first + len(sets.times) - 1
    left = state.column("left", np.int64, at_least=first, at_most=last)
    right = state.column("right", np.int64, len(left), at_least=first, at_most=last)
    apart = (sets.sides[left - first] < sets.sides[right - first]) if sides == 2 else left < right
    state.require(bool(apart.all()), "right", "must not be left itself, and be on the other side if there are two")
    order = np.lexsort((right, left))
    twice = (np.diff(left[order]) == 0) & (np.diff(right[order]) == 0)
    state.require(not twice.any(), "left", "must contain each pair once")
    return Pairs(left, right, state.column("similarities", np.float64, len(left), at_least=-(2.0**62), at_most=2.0**62))
