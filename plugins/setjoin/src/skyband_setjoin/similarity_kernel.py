"""The similarity of two sets from their overlap and sizes, in compiled code.

All backends call this one kernel, so that they get the same float, to the last bit.
"""

import numpy as np
from skyband.kernels.nested import shared_njit

JACCARD, COSINE, DICE, OVERLAP, HAMMING, CONTAINMENT = range(6)
"""In the order of `skyband.roles.pair_ranker.SIMILARITIES`."""
OWN = -1


@shared_njit(error_model="numpy")
def similarity(kind, own, overlap, n, m):  # type: ignore[no-untyped-def]
    """The similarity of two sets of sizes `n` and `m` that share `overlap` >= 1 tokens (table 2 of the paper).

    kind: JACCARD … CONTAINMENT, or OWN. own: a function that numba has compiled by its signature, called only for OWN;
    other kinds pass one of the same type, so that a kernel is compiled once for all; or None. Hamming is a
    distance: negated.
    """
    if kind == JACCARD:
        return overlap / (n + m - overlap)
    if kind == COSINE:
        return overlap / np.sqrt(n * m)
    if kind == DICE:
        return 2 * overlap / (n + m)
    if kind == OVERLAP:
        return float(overlap)
    if kind == CONTAINMENT:
        return overlap / min(n, m)
    if kind == OWN and own is not None:
        return own(overlap, n, m)
    return float(2 * overlap - n - m)
