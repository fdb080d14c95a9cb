"""Exact sums of the numbers in windows, and n · Σv² - (Σv)²; of floats in pieces, each with its own exponents."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from skyband.arrays import Array, Float64, Int64

from skyband_totals.row_aggregates import exact_sums_kernels as kernels
from skyband_totals.row_aggregates.kept_values import Numbers

_PIECE = 1 << 16
"""Values of a piece at least: where no window reaches over a border, it may be cut."""


def sums(items: Numbers, first: Int64, stop: Int64) -> Float64:
    """float64[w, q]: the float64 nearest to each sum, in units if there is one."""
    numbers = items.whole
    if numbers is None:
        return _in_pieces(kernels.sums_of_floats, items.numbers, first, stop)
    exact: Float64 = kernels.sums_of_units(numbers, first, stop)
    return exact


def spreads(items: Numbers, first: Int64, stop: Int64) -> Float64:
    """float64[w, q]: the nearest to n · Σv² - (Σv)², which is n(n - 1) times the variance, in units if there is one."""
    numbers = items.whole
    if numbers is None:
        return _in_pieces(kernels.spreads_of_floats, items.numbers, first, stop)
    spread: Float64 = kernels.spreads_of_units(numbers, first, stop)
    large = (spread < 0).any(axis=0)
    if large.any():
        floats = numbers.astype(np.float64)
        spread[:, large] = _in_pieces(kernels.spreads_of_floats, floats, first[:, large], stop[large])
    return spread


def _in_pieces(kernel: Callable[..., Any], numbers: Float64, first: Int64, stop: Int64) -> Float64:
    answers = np.zeros(first.shape)
    for questions in _pieces(first, stop):
        begin, end = int(first[:, questions].min(initial=len(numbers))), int(stop[questions].max(initial=0))
        own = numbers[begin:end]
        least, largest = kernels.exponents_of(own)
        if least <= largest:
            digits = ((largest - least) >> 5) + 3
            answers[:, questions] = kernel(own, least, digits, first[:, questions] - begin, stop[questions] - begin)
    return answers


def _pieces(first: Int64, stop: Int64) -> Iterator[slice]:
    """Questions in pieces of many values, so that no window reaches from one into another."""
    if not len(stop):
        return
    free: Array = np.flatnonzero(first.min(axis=0)[1:] >= stop[:-1]) + 1
    cuts, reached = [0], int(first[:, 0].min())
    for cut in free.tolist() if len(free) and stop[-1] - reached > _PIECE else ():
        if stop[cut - 1] - reached >= _PIECE:
            cuts.append(cut)
            reached = int(stop[cut - 1])
    for start, end in zip(cuts, [*cuts[1:], len(stop)], strict=True):
        yield slice(start, end)
