# ruff: noqa: T201 - a report on standard output
"""Sets a second and stock of the pair rankers by window size, and of what a user would pick instead, in one run.

    python tests/bench/setjoin.py [--windows 1000 10000 100000] [--k 10 100 1000] [--peers]

Jaccard; sizes 1 + Poisson(11), tokens by Zipf's law over 200 000, 10 % near-duplicates. CPU time of the one thread
after the window is full. `base` and `scase` enter a large window through a snapshot's restore, not set by set.
"""

import argparse
import time
from collections import deque

import skyband
from skyband_setjoin.sets import FIRST
from skyband_specs.streams.pair_ranker import zipf


def rate(sets, seconds):
    return f"{sets / seconds:>10,.0f} sets/s"


def filled(name, k, window, times, offsets, tokens):
    """A ranker whose window is full: swoop fills it, and the others take over its sets and stock."""
    ranker = skyband.create("pair-ranker", "swoop", k=k, window=window)
    for start in range(0, window, 1000):
        stop = min(start + 1000, window)
        cuts = offsets[start : stop + 1]
        ranker.update(times[start:stop], cuts - cuts[0], tokens[cuts[0] : cuts[-1]])
    if name == "swoop":
        return ranker
    other = skyband.create("pair-ranker", name, k=k, window=window)
    if name == "base":
        cuts = offsets[: window + 1]
        other.update(times[:window], cuts, tokens[: cuts[-1]])
    else:
        other._load(ranker._state())
    return other


def run(name, k, window, every, sets, data):
    times, offsets, tokens = data
    ranker = filled(name, k, window, times, offsets, tokens)
    assert int(ranker._sets.marks[FIRST]) == 0
    ranker.top()
    begun = time.thread_time()
    for start in range(window, window + sets, 1000):
        stop = min(start + 1000, window + sets)
        cuts = offsets[start : stop + 1]
        moments = times[start:stop:every]
        ranker.answers(times[start:stop], cuts - cuts[0], tokens[cuts[0] : cuts[-1]], moments)
    spent = time.thread_time() - begun
    size = f"stock {len(ranker):>8,}  {ranker.nbytes / 1e6:>7.1f} MB"
    print(f"{name:<8} W = {window:>7,}  k = {k:>5,}  answer every {every:>4}: {rate(sets, spent)}  {size}", flush=True)
    return sets / spent


def peers(window, sets, data):
    """MinHashLSH over a sliding window (approximate, thresholded); all pairs of the window recomputed."""
    _, offsets, tokens = data
    words = [{str(token) for token in tokens[offsets[i] : offsets[i + 1]]} for i in range(window + sets)]
    try:
        from datasketch import MinHash, MinHashLSH
    except ImportError:
        print("datasketch is not installed: pip install datasketch")
    else:
        lsh, held = MinHashLSH(threshold=0.7, num_perm=64), deque()
        for number, entry in enumerate(words):
            if number == window:
                begun = time.thread_time()
            sketch = MinHash(num_perm=64)
            sketch.update_batch([word.encode() for word in entry])
            lsh.query(sketch)
            lsh.insert(number, sketch)
            held.append(number)
            if len(held) > window:
                lsh.remove(held.popleft())
        spent = time.thread_time() - begun
        print(f"MinHashLSH, 64 permutations, threshold 0.7, W = {window:,}: {rate(sets, spent)}, approximate")
    try:
        from SetSimilaritySearch import all_pairs
    except ImportError:
        print("SetSimilaritySearch is not installed: pip install SetSimilaritySearch")
    else:
        begun = time.thread_time()
        list(all_pairs(words[:window], similarity_func_name="jaccard", similarity_threshold=0.7))
        print(
            f"SetSimilaritySearch, all pairs recomputed for each set, W = {window:,}: "
            f"{rate(1, time.thread_time() - begun)}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--k", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--sets", type=int, default=20_000)
    parser.add_argument("--baselines", action="store_true", help="scase, and base where its window is at most 2000")
    parser.add_argument("--peers", action="store_true")
    given = parser.parse_args()
    rows = max(given.windows) + given.sets
    stream = zipf(1, rows, back=max(given.windows) // 2)
    data = (stream.times, *stream.flat(0, rows))
    run("swoop", given.k[0], given.windows[0], 1000, 1000, data)  # compile
    for window in given.windows:
        for every in (1000, 1):
            run("swoop", given.k[0], window, every, given.sets, data)
        if given.baselines:
            run("scase", given.k[0], window, 1000, max(200, min(2000, 10_000_000 // window)), data)
            if window <= 2000:
                run("base", given.k[0], window, 1000, 200, data)
    for k in given.k[1:]:
        run("swoop", k, given.windows[-1], 1000, given.sets // 2, data)
    if given.peers:
        peers(5000, 2000, data)


if __name__ == "__main__":
    main()
