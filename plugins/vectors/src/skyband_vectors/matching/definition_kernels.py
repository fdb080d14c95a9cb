"""The definition of similarity, in compiled code: one float64 sum in a fixed order, without fastmath.

A product of two float32 numbers is exact in float64, so a fused multiply-add rounds as an addition does. With the order
fixed, the sum is the same on every machine, for any batches, and the same for (x, y) as for (y, x).
"""

import math

import numpy as np
from skyband.kernels.nested import kernel_njit, nested_njit

COSINE_KIND, DOT_KIND, EUCLIDEAN_KIND = range(3)
"""The similarities as kernels know them."""


@nested_njit
def inner(x, y):
    """x · y of two vectors of float32, in eight lanes. O(dimensions)."""
    whole = len(x) & ~7
    a = b = c = d = e = f = g = h = 0.0
    for i in range(0, whole, 8):
        a += np.float64(x[i]) * np.float64(y[i])
        b += np.float64(x[i + 1]) * np.float64(y[i + 1])
        c += np.float64(x[i + 2]) * np.float64(y[i + 2])
        d += np.float64(x[i + 3]) * np.float64(y[i + 3])
        e += np.float64(x[i + 4]) * np.float64(y[i + 4])
        f += np.float64(x[i + 5]) * np.float64(y[i + 5])
        g += np.float64(x[i + 6]) * np.float64(y[i + 6])
        h += np.float64(x[i + 7]) * np.float64(y[i + 7])
    total = ((a + e) + (c + g)) + ((b + f) + (d + h))
    for i in range(whole, len(x)):
        total += np.float64(x[i]) * np.float64(y[i])
    return total


@nested_njit
def similarity(kind, product, square, other_square):
    """The similarity of two vectors with this inner product and these squared lengths."""
    if kind == DOT_KIND:
        return product
    if kind == COSINE_KIND:
        # One root, not two: the square root of a·a is a, so that equal vectors have cosine 1.
        return min(1.0, product / math.sqrt(square * other_square))
    return 0.0 - math.sqrt(max(0.0, (square + other_square) - 2.0 * product))


@kernel_njit
def squares_of(vectors):
    """float64[n]: the squared length of each vector, by the definition."""
    squares = np.empty(len(vectors))
    for i in range(len(vectors)):
        squares[i] = inner(vectors[i], vectors[i])
    return squares
