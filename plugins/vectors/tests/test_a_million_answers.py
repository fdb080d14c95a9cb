"""A million answers of the matchers against the definition, to the bit: many at the threshold, any batches. Slow."""

from itertools import pairwise

import numpy as np
import pytest
import skyband
from skyband_vectors.conformance.streams import bursts, clustered
from skyband_vectors.conformance.trials import matches_of

pytestmark = pytest.mark.slow

ANSWERS = 340_000
"""Of each similarity, at least."""
DIMENSIONS = (1, 2, 7, 8, 9, 33, 64, 100, 128, 192, 384)


def streams(rng):
    """Streams without end: clustered, in a cone, or of whole numbers."""
    while True:
        dimensions = int(rng.choice(DIMENSIONS))
        seed, kind = int(rng.integers(2**31)), rng.random()
        if kind < 0.3:
            yield bursts(seed, min(dimensions, 9), 900)
        else:
            cone, decay = (3.0 if kind < 0.5 else 0.0), float(rng.choice([0.5, 1.0, 1.5]))
            yield clustered(seed, 900, dimensions, cone=cone, decay=decay)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
def test_no_answer_differs_from_the_definition(similarity):
    from skyband_vectors.conformance.oracle import similarities

    rng, answers = np.random.default_rng([72, len(similarity)]), 0
    for stream in streams(rng):
        vectors = stream.vectors.astype(np.float64)
        values = np.sort(similarities(similarity, vectors[800], vectors[300:800]))
        threshold = float(values[-int(rng.integers(1, 120))])  # that of a pair, exactly
        own = {"dimensions": vectors.shape[1], "window": int(rng.integers(300, 600)), "similarity": similarity}
        own |= {"threshold": min(threshold, 1.0) if similarity == "cosine" else threshold, "by": "rows"}
        further = [{}, {"matches": 3}, {"keep": "first"}][int(rng.integers(3))]
        right = matches_of({"sides": 1, "matches": "all", "keep": "all", **own, **further}, stream)
        cuts = np.unique([0, *rng.integers(0, 900, int(rng.integers(1, 12))), 900])
        for name in ("exact", "flat"):
            matcher, row = skyband.create("vector-matcher", name, **own, **further), 0
            for start, stop in pairwise(cuts):
                ends, earlier, similar = matcher.update(np.arange(start, stop), stream.vectors[start:stop])
                for begin, end in pairwise(ends):
                    got = list(zip(earlier[begin:end].tolist(), similar[begin:end].tolist(), strict=True))
                    assert got == right[row], (name, own, further, row)
                    row += 1
                    answers += len(got) + (not got)
        if answers >= ANSWERS:
            return
