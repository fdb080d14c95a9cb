"""The bounds of shares in compiled code: see `binomial_bounds`."""

import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from skyband.kernels.nested import kernel_njit

from skyband_distinct import binomial_bounds

least_share = kernel_njit(binomial_bounds.least_share)
