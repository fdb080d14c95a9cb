"""Ranks of quantiles in compiled code: see `ranks`."""

from skyband.kernels.nested import nested_njit

from skyband_quantiles import ranks

rank_of = nested_njit(ranks.rank_of)
