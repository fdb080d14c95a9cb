"""Vector matchers against a plain product of numpy, and vector libraries: the time of an arrival, by how vectors lie.

    python tests/bench/one_process/near_vectors.py [--window 10000] [--threshold 0.9] [--only text] [--peers faiss]

text      as of texts: a few directions hold most of a vector, a tenth are near copies; 384 dimensions
sphere    even in all directions, a tenth near copies; 768 dimensions
cone      all point one way (median cosine .7), as embeddings of some models do; 384 dimensions

A window of rows is filled, then the ways take turns with the same 64 arrivals: `exact`, `flat`, and numpy's `@` of
the arrivals with the window, of vectors of length 1, followed by `nonzero`. Libraries search, remove the oldest and add
the new ones. CPU time, the least of the turns: machines are noisy. Recall is the share of the matches with rows before
a batch that are found. Run with OPENBLAS_NUM_THREADS=1. That both exact matchers report the same is checked.
"""

import argparse
import time

import numpy as np
import skyband
from skyband.text_tables import table

AT_ONCE, TURNS = 64, 20


def vectors_of(kind: str, rows: int) -> np.ndarray:
    """float32[rows, d]."""
    rng = np.random.default_rng([72, len(kind)])
    dimensions = 768 if kind == "sphere" else 384
    spread = 1.0 if kind == "sphere" else (1.0 + np.arange(dimensions)) ** -0.5
    vectors = rng.standard_normal((rows, dimensions)).astype(np.float32) * np.float32(1) * spread
    if kind == "cone":
        vectors[:, 0] += 1.55 * np.sqrt((vectors**2).sum(axis=1).mean())
    copies = np.flatnonzero(rng.random(rows) < 0.1)[1:]
    noise = rng.standard_normal((len(copies), dimensions)) * spread * 0.3
    vectors[copies] = vectors[(copies * rng.random(len(copies))).astype(int)] + noise
    turned, _ = np.linalg.qr(rng.standard_normal((dimensions, dimensions)))
    return np.ascontiguousarray(vectors @ turned, np.float32)


def measure(kind: str, window: int, threshold: float, peers: list[str]) -> list[list[str]]:
    """Lines of the table, one a way: microseconds of an arrival, how many times as long as `exact`, and recall."""
    vectors = vectors_of(kind, window + 2 * AT_ONCE * (TURNS + 1))
    dimensions = vectors.shape[1]
    shape = {"dimensions": dimensions, "window": window, "threshold": threshold, "by": "rows"}
    matchers = {name: skyband.create("vector-matcher", name, **shape) for name in ("exact", "flat", "projections")}
    start = len(vectors) - AT_ONCE * TURNS
    for matcher in matchers.values():
        for row in range(0, start, 256):
            stop = min(row + 256, start)
            matcher.update(np.arange(row, stop), vectors[row:stop])
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    others = {name: PEERS[name](dimensions, window, threshold) for name in peers}
    for other in others.values():
        other.add(np.arange(start - window, start), directions[start - window : start])
    took: dict[str, list[float]] = {name: [] for name in (*matchers, "numpy @", *others)}
    right: set[tuple[int, int]] = set()
    found: dict[str, set[tuple[int, int]]] = {name: set() for name in took}
    for row in range(start, len(vectors), AT_ONCE):
        numbers, some, answers = np.arange(row, row + AT_ONCE), slice(row, row + AT_ONCE), {}
        for name, matcher in matchers.items():
            begin = time.process_time()
            answers[name] = matcher.update(numbers, vectors[some])
            took[name].append(time.process_time() - begin)
            cuts, earlier, _ = answers[name]
            found[name] |= before(row, np.repeat(numbers, np.diff(cuts)), earlier, window)
        assert all(np.array_equal(*both) for both in zip(answers["exact"], answers["flat"], strict=True)), "they differ"
        begin = time.process_time()
        own, old = np.nonzero(directions[some] @ directions[row - window : row].T >= threshold)
        took["numpy @"].append(time.process_time() - begin)
        found["numpy @"] |= before(row, own + row, old + row - window, window)
        for name, other in others.items():
            begin = time.process_time()
            own, old = other.near(directions[some])
            other.remove(np.arange(row - window, row - window + AT_ONCE))
            other.add(numbers, directions[some])
            took[name].append(time.process_time() - begin)
            found[name] |= before(row, own + row, old, window)
        right |= before(row, np.repeat(numbers, np.diff(answers["exact"][0])), answers["exact"][1], window)
    least = {name: min(times) / AT_ONCE * 1e6 for name, times in took.items()}
    prefix = matchers["exact"]._prefix
    title = f"{kind} {dimensions} ({'all' if prefix is None else len(prefix)})"
    return [
        [title, name, f"{value:.1f}", f"{value / least['exact']:.2f}", f"{len(found[name] & right) / len(right):.3f}"]
        for name, value in least.items()
    ]


def before(row: int, own: np.ndarray, earlier: np.ndarray, window: int) -> set[tuple[int, int]]:
    """Pairs with rows before a batch that begins at `row`, which every way can find."""
    fits = (earlier < row) & (earlier > own - window)
    return set(zip(own[fits].tolist(), earlier[fits].tolist(), strict=True))


class Faiss:
    """range_search of faiss over all vectors, without an index; those removed are moved over."""

    def __init__(self, dimensions: int, window: int, threshold: float) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self._faiss, self._threshold, self._first = faiss, threshold, -1
        self._index = faiss.IndexFlatIP(dimensions)

    def add(self, numbers: np.ndarray, directions: np.ndarray) -> None:
        self._first = int(numbers[0]) if self._first < 0 else self._first
        self._index.add(directions)

    def remove(self, numbers: np.ndarray) -> None:
        self._index.remove_ids(self._faiss.IDSelectorRange(0, len(numbers)))
        self._first += len(numbers)

    def near(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        limits, _, places = self._index.range_search(directions, self._threshold)
        return np.repeat(np.arange(len(directions)), np.diff(limits).astype(int)), places + self._first


class Graph:
    """The 10 nearest by a graph (HNSW, M = 16): those that are near enough."""

    def __init__(self, dimensions: int, window: int, threshold: float) -> None:
        self._threshold = threshold
        self._make(dimensions, window)

    def near(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        keys, distances = self._search(directions)
        own, rank = np.nonzero(distances <= 1 - self._threshold)
        return own, keys[own, rank].astype(np.int64)


class Hnswlib(Graph):
    """hnswlib: places of vectors marked as deleted are used again."""

    def _make(self, dimensions: int, window: int) -> None:
        import hnswlib

        self._index = hnswlib.Index(space="cosine", dim=dimensions)
        self._index.init_index(window + 2 * AT_ONCE, M=16, ef_construction=200, allow_replace_deleted=True)
        self._index.set_ef(100)

    def add(self, numbers: np.ndarray, directions: np.ndarray) -> None:
        self._index.add_items(directions, numbers, num_threads=1, replace_deleted=True)

    def remove(self, numbers: np.ndarray) -> None:
        for number in numbers.tolist():
            self._index.mark_deleted(number)

    def _search(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._index.knn_query(directions, k=10, num_threads=1)


class Usearch(Graph):
    """usearch with its default parameters, except M."""

    def _make(self, dimensions: int, window: int) -> None:
        from usearch.index import Index

        self._index = Index(ndim=dimensions, metric="cos", dtype="f32", connectivity=16)

    def add(self, numbers: np.ndarray, directions: np.ndarray) -> None:
        self._index.add(numbers, directions, threads=1)

    def remove(self, numbers: np.ndarray) -> None:
        self._index.remove(numbers, threads=1)

    def _search(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = self._index.search(directions, 10, threads=1)
        return found.keys, np.where(np.arange(10) < found.counts[:, np.newaxis], found.distances, np.inf)


PEERS = {"faiss": Faiss, "hnswlib": Hnswlib, "usearch": Usearch}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, default=10_000)
    parser.add_argument("--threshold", type=float, default=0.9)
    parser.add_argument("--only", nargs="+", default=["text", "sphere", "cone"])
    parser.add_argument("--peers", nargs="+", default=[], choices=PEERS, help="these have to be installed")
    options = parser.parse_args()
    names = ["vectors", "by", "us an arrival", "of exact", "recall"]
    each = [measure(kind, options.window, options.threshold, options.peers) for kind in options.only]
    lines = [line for some in each for line in some]
    print(f"window of {options.window:,} rows, cosine {options.threshold}")  # noqa: T201
    table(names, lines)


if __name__ == "__main__":
    main()
