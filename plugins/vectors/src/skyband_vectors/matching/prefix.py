"""Learns the directions in which vectors are longest, and how many of them are worth multiplying."""

from typing import TypeAlias

import numpy as np
from skyband.arrays import Float64, Int64, read_only

from skyband_vectors.matching.definition_kernels import COSINE_KIND, EUCLIDEAN_KIND
from skyband_vectors.matching.scan_kernels import candidates
from skyband_vectors.matching.window_matcher import directions_of, margin_of
from skyband_vectors.role import Float32

Prefix: TypeAlias = Float64
"""Orthonormal rows, float64[p, dimensions]."""

SIZES = (16, 32, 48, 64, 96, 128, 192, 256)
"""The numbers of directions to choose from, besides all."""
_SAMPLE, _ARRIVALS, _OTHERS = 2_000, 128, 1_000
_ITERATIONS = 3
_RESIDUAL = 1e-13
"""More than the error of a squared residual by rounding, and by directions that are orthonormal to 10^-14 only."""
_PAIR, _COLUMN = 0.5, 0.0097
"""Nanoseconds of a pair in a product and its scan, and of each column more."""
_CHECK, _ENTRY = 20.0, 0.6
"""Nanoseconds to multiply a pair in float32, which decides most, and for each dimension more, from memory."""


def prefix_features(prefix: Prefix, directions: Float64) -> Float32:
    """float32[n, p + 1]: vectors of length 1 in the prefix's directions, then the length of what is left.

    The product of two rows is at least the cosine, up to rounding: what is left of both adds at most the product of
    its lengths (Cauchy-Schwarz), rounded up here.
    """
    features = np.empty((len(directions), len(prefix) + 1), np.float32)
    inside = directions @ prefix.T
    features[:, :-1] = inside
    squares = np.einsum("ij,ij->i", inside, inside)
    rest = np.sqrt(np.maximum(0.0, 1.0 - squares) + _RESIDUAL)
    features[:, -1] = np.nextafter(rest.astype(np.float32), np.float32(np.inf))
    return features


def best_prefix(
    vectors: Float32, lengths: Float64, kind: int, threshold: float | None, most: int
) -> Prefix | None:  # fmt: skip
    """The directions whose products with the bound of the rest cost the least for these vectors; None: all.

    most: how many matches a row has, if it has no threshold. The cost is that of the products and of deciding the
    pairs that may match, which are counted on a sample.
    """
    dimensions = vectors.shape[1]
    sizes = [size for size in SIZES if size <= dimensions // 2]
    if not sizes:
        return None
    # Directions hold more of the vectors that they are learnt from than of others: these are counted.
    some, apart = 2 * _spread((len(vectors) + 1) // 2, _SAMPLE), len(vectors) // 4
    directions = _longest_directions(directions_of(vectors[some], lengths[some]).astype(np.float32), sizes[-1])
    new, old = 4 * _spread(apart, _ARRIVALS) + 1, 4 * _spread(apart, _OTHERS) + 3
    own, others = (directions_of(vectors[places], lengths[places]) for places in (new, old))
    of_own, of_others = read_only(lengths[new]), read_only(lengths[old])
    whole = own.astype(np.float32) @ others.astype(np.float32).T
    bars = np.full(len(new), threshold)
    if threshold is None:
        rank = min(len(old), max(1, most * len(old) // len(vectors)))
        bars = np.sort(_similarities(kind, whole, of_own, of_others), axis=1)[:, -rank].astype(np.float64)

    def cost(products: Float32, columns: int) -> float:
        count = candidates(products, kind, bars, margin_of(columns), of_own, of_others)
        return _PAIR + _COLUMN * columns + count / products.size * (_CHECK + _ENTRY * dimensions)

    least, best = cost(whole, dimensions), None
    for size in sizes:
        prefix = directions[:size]
        features = prefix_features(prefix, own), prefix_features(prefix, others)
        price = cost(np.dot(features[0], features[1].T), size + 1)
        if price < least:
            least, best = price, prefix
    return best


def _spread(count: int, most: int) -> Int64:
    """The places of at most twice `most` of `count` vectors, evenly; of all if they are fewer."""
    return np.arange(0, count, max(1, count // most))


def _longest_directions(sample: Float32, count: int) -> Prefix:
    """Orthonormal rows float64[count, d] that hold most of the sample, the longest first: subspace iterations."""
    rng = np.random.default_rng(72)
    basis = rng.standard_normal((sample.shape[1], count)).astype(np.float32)
    for _ in range(_ITERATIONS):
        basis = np.linalg.qr(sample.T @ (sample @ basis))[0]
    _, _, turned = np.linalg.svd(sample @ basis, full_matrices=False)
    return np.ascontiguousarray(np.linalg.qr((basis @ turned.T).astype(np.float64))[0].T)


def _similarities(kind: int, cosines: Float32, lengths: Float64, others: Float64) -> Float64:
    """About the similarities of pairs with these cosines."""
    if kind == COSINE_KIND:
        return cosines.astype(np.float64)
    products = cosines * (lengths[:, np.newaxis] * others)
    if kind != EUCLIDEAN_KIND:
        return products
    return -np.sqrt(np.maximum(0.0, lengths[:, np.newaxis] ** 2 + others**2 - 2 * products))
