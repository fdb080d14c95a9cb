"""Streams of vectors: many pairs exactly at a threshold, scaled copies, opposites, and the ends of float32."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from attrs import evolve, frozen
from skyband.arrays import Array, Int8, Int64
from skyband_specs.odd_streams import moved, stretched
from skyband_specs.stream import Stream

from skyband_vectors.role import Float32

ROWS = 160
TINY_ROWS = 3


@frozen(eq=False)
class VectorStream(Stream):
    """times int64[n], sides int8[n] and vectors float32[n, d].

    A matcher of one stream is fed without the sides, one that counts rows with row numbers instead of the times.
    """

    times: Int64
    sides: Int8
    vectors: Float32


def stream_of(vectors: Any, times: Any = None, sides: Any = None) -> VectorStream:
    """A stream of these vectors, by default at the times 0, 1, 2, …, alternating between the sides."""
    entries = np.array(vectors, np.float32)
    rows = np.arange(len(entries))
    moments = rows if times is None else np.array(times, np.int64)
    return VectorStream(moments, np.array(rows % 2 if sides is None else sides, np.int8), entries)


def tiny(dimensions: int, sides: int, zeros: bool) -> Iterator[VectorStream]:
    """Every stream of at most TINY_ROWS of a few vectors with two entries, at equal and rising times, on every side."""
    alphabet = [(1, 0), (-1, 0), (0, 1), (1, 1), *([(0, 0)] if zeros else [(2, 2)])]
    entries = np.zeros((len(alphabet), dimensions), np.float32)
    if dimensions == 1:
        entries[:, 0] = [1, -1, 2, -2, 0 if zeros else 3]
    else:
        entries[:, [0, -1]] = alphabet
    rows = list(product(range(len(alphabet)), range(sides)))
    for length in range(TINY_ROWS + 1):
        for picks in product(rows, repeat=length):
            for steps in product((0, 2), repeat=max(0, length - 1)):
                times = np.cumsum([0, *steps])[:length]
                yield stream_of(entries[[pick for pick, _ in picks]], times, [side for _, side in picks])


def bursts(seed: int, dimensions: int, rows: int = ROWS) -> VectorStream:
    """Ties everywhere: recurring vectors of small whole numbers, copies with one other entry, opposites, copies scaled
    by powers of two, silences that empty the window, many vectors at one time.
    """
    return _bursts(seed, dimensions, rows).copy()


@lru_cache(maxsize=64)
def _bursts(seed: int, dimensions: int, rows: int) -> VectorStream:
    rng = np.random.default_rng([72, seed, dimensions])
    times = np.cumsum(rng.choice([0, 0, 0, 1, 1, 2, 9, 60], rows, p=[0.2, 0.2, 0.1, 0.2, 0.1, 0.1, 0.08, 0.02])) - 30
    vectors: list[Array] = []
    for row in range(rows):
        kind = rng.random()
        old = vectors[int(rng.integers(max(0, row - 20), row))].copy() if row else np.ones(dimensions)
        if kind < 0.25:
            vector = old
        elif kind < 0.5:
            vector = old
            vector[int(rng.integers(dimensions))] += int(rng.integers(-1, 2))
        elif kind < 0.65:
            vector = old * 2.0 ** int(rng.integers(-3, 4))
        elif kind < 0.75:
            vector = -old
        else:
            vector = rng.integers(-2, 3, dimensions).astype(np.float64)
        vectors.append(vector if vector.any() else np.eye(1, dimensions)[0])
    return stream_of(np.array(vectors).reshape(rows, dimensions), times, rng.integers(0, 2, rows))


def steady(rows: int, dimensions: int, window: int) -> VectorStream:
    """New vectors without end; about twenty in a window of this length."""
    rng = np.random.default_rng(73)
    return stream_of(rng.standard_normal((rows, dimensions)), np.arange(rows) * max(1, window // 20))


def odd(stream: VectorStream, moments: bool) -> Iterator[tuple[str, VectorStream]]:
    """Times at their limits, and entries at the ends of float32."""
    if moments:
        for label, times in (*moved(stream.times), *stretched(stream.times)):
            yield label, evolve(stream, times=times)
    rows = np.arange(len(stream))[:, np.newaxis]
    signs = np.sign(stream.vectors)
    for label, scales in {
        "the largest and the smallest lengths": np.array([3e38, 1e-45, 1.0, 1e-38], np.float32),
        "lengths that are powers of two": np.float32(2.0) ** np.array([-149, 126, -126, 0], np.float32),
    }.items():
        yield label, evolve(stream, vectors=signs * scales[rows % len(scales)])


def clustered(
    seed: int, rows: int, dimensions: int, near: float = 0.3, cone: float = 0.0, decay: float = 0.7
) -> VectorStream:  # fmt: skip
    """Vectors as embeddings are: a few directions hold most of them, some are near copies of earlier ones.

    near: the share of copies, with noise. cone: how far all point one way. decay: how few directions hold most.
    """
    rng = np.random.default_rng([74, seed])
    spread = (1.0 + np.arange(dimensions)) ** -decay
    turned, _ = np.linalg.qr(rng.standard_normal((dimensions, dimensions)))
    vectors = rng.standard_normal((rows, dimensions)) * spread
    vectors[:, 0] += cone
    vectors = vectors @ turned
    for row in np.flatnonzero(rng.random(rows) < near).tolist():
        if row:
            old = vectors[int(rng.integers(max(0, row - 200), row))]
            noise = rng.standard_normal(dimensions) * np.linalg.norm(old) / np.sqrt(dimensions)
            vectors[row] = old * 2.0 ** int(rng.integers(-2, 3)) + noise * rng.choice([0.0, 0.1, 0.3, 0.5])
    return stream_of(vectors, np.sort(rng.integers(0, rows, rows)), rng.integers(0, 2, rows))


def turning(seed: int, rows: int, dimensions: int) -> VectorStream:
    """Two halves with nothing in common: directions learnt from the first hold nothing of the second."""
    first, second = clustered(seed, rows // 2, dimensions), clustered(seed + 1, rows - rows // 2, dimensions)
    half = dimensions // 2
    flat = [stream.vectors.copy() for stream in (first, second)]
    flat[0][:, half:] = 0
    flat[1][:, :half] = 0
    times = np.append(first.times, second.times + rows // 2)
    return stream_of(np.concatenate(flat), times, np.append(first.sides, second.sides))
