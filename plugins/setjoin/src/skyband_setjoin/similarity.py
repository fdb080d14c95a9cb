# mypy: disable-error-code="untyped-decorator"
"""The similarity of two sets from their overlap and sizes: the named ones, or a function of the user's own.

Every backend computes it here and nowhere else, so that all get the same float, to the last bit.
"""

from typing import Any

import numpy as np
from numba import cfunc, njit
from numba.core.errors import NumbaError
from skyband.errors import ConfigError, Problem
from skyband.roles.pair_ranker import SIMILARITIES
from skyband.roles.similarity import Function, grid, misbehaviour, name_of

JACCARD, COSINE, DICE, OVERLAP, HAMMING, CONTAINMENT = range(6)
KINDS = {name: kind for kind, name in enumerate(SIMILARITIES)}
OWN = -1


@njit(cache=True, error_model="numpy")
def similarity(kind, own, overlap, n, m):  # type: ignore[no-untyped-def]
    """How alike two sets of sizes `n` and `m` are that share `overlap` >= 1 tokens (table 2 of the paper).

    kind: JACCARD … CONTAINMENT with own = None, or OWN with a compiled function. Hamming is a distance: negated.
    """
    if own is not None:
        return own(overlap, n, m)
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
    return float(2 * overlap - n - m)


def resolve(given: str | Function) -> tuple[int, Any]:
    """(kind, own) for `similarity`. Raises ConfigError where a function is not well-behaved or not compilable."""
    if isinstance(given, str):
        return KINDS[given], None
    plain = getattr(given, "py_func", given)
    fault = misbehaviour(plain)
    if fault:
        raise ConfigError(Problem("similarity", fault))
    try:
        compiled = cfunc("float64(int64, int64, int64)")(plain)
    except (NumbaError, NotImplementedError, TypeError) as error:
        cause = str(error).strip().splitlines()[0]
        message = f"numba cannot compile {name_of(plain)}: use arithmetic and math functions only ({cause})"
        raise ConfigError(Problem("similarity", message)) from error
    for overlap, n, m in grid():
        if compiled.ctypes(overlap, n, m) != plain(overlap, n, m):
            at = f"f({overlap}, {n}, {m})"
            raise ConfigError(Problem("similarity", f"{name_of(plain)} gives another {at} when compiled by numba"))
    return OWN, compiled
