"""The number of existing tuples, counted from the youngest, as the band of a Poisson-binomial distribution."""

from skyband.arrays import Float64
from skyband.kernels.nested import nested_njit

TINY = 1e-25
"""The cut-off of a band: far below the 1e-16 that sums of it resolve."""


@nested_njit(nogil=True, error_model="numpy")
def multiply_tail(pmf: Float64, p: float, low: int, high: int) -> tuple[int, int]:
    """Add a tuple: pmf[r] = P(size − 1 − r exist), in reverse so that one ascending loop works in place."""
    q = 1.0 - p
    low = max(low - 1, 0)
    for r in range(low, high):
        pmf[r] = q * pmf[r] + p * pmf[r + 1]
    return trim(pmf, low, high)


@nested_njit(nogil=True, error_model="numpy")
def trim(pmf: Float64, low: int, high: int) -> tuple[int, int]:
    """The band low..high above TINY."""
    while low < high and pmf[low] < TINY:
        pmf[low] = 0.0
        low += 1
    while low < high and pmf[high - 1] < TINY:
        high -= 1
        pmf[high] = 0.0
    return low, high


@nested_njit(nogil=True, error_model="numpy")
def presences(p: Float64, start: int, stop: int, size: int, pmf: Float64, out: Float64) -> None:
    """out[t] = P(fewer than size of the tuples after t and before stop exist), for each t of start..stop.

    pmf: room for size + 1, or any room if there are fewer tuples than size. One chain of eq. 10.
    """
    low, high = size - 1, size
    if stop - start > size:
        for r in range(size + 1):
            pmf[r] = 0.0
        pmf[size - 1] = 1.0
    for t in range(stop - 1, start - 1, -1):
        out[t] = 1.0
        if stop - start <= size:
            continue
        if stop - t - 1 >= size:
            total = 0.0
            for r in range(low, high):
                total += pmf[r]
            out[t] = min(total, 1.0)
        low, high = multiply_tail(pmf, p[t], low, high)


@nested_njit(nogil=True)
def oldest_needed(chance: Float64, start: int, stop: int, size: int, limit: float, counts: Float64) -> int:
    """The latest of start..stop from which on fewer than `size` tuples exist with probability at most `limit`.

    `start` if there is none, -1 if floats cannot decide. counts: room for min(`size`, tuples); counts[k]
    becomes the probability that k of the tuples from a place on exist: one chain of eq. 10 from the youngest.
    """
    if stop - start <= size:
        return start
    if limit == 0.0:
        found = 0
        for place in range(stop - 1, start, -1):
            found += chance[place] == 1.0
            if found >= size:
                return place
        return start
    used = 1
    counts[0] = 1.0
    for place in range(stop - 1, start, -1):
        p, q = chance[place], 1.0 - chance[place]
        last = min(used, size - 1)
        if last == used:
            counts[used] = 0.0
        below = 0.0
        for k in range(last, 0, -1):
            counts[k] = q * counts[k] + p * counts[k - 1]
            below += counts[k]
        counts[0] *= q
        below += counts[0]
        used = min(used + 1, size)
        number = stop - place
        if number >= size:
            slack = below * _ROUNDING * (number + size) + number * _FAINT
            if below - slack <= limit:
                return place if below + slack < limit else -1
    return start


_ROUNDING = 1e-14
"""Far above the rounding error that each tuple, and each count of them, adds to a probability."""
_FAINT = 1e-290
