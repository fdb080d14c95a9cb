"""The set matchers against each other and what a user would pick instead, in one run.

    python tests/bench/one_process/near_duplicates.py windows | million | long | ways | peers [--windows 10000 100000]

windows   sets a second and bytes a set by window and threshold: prefix, inverted, minhash-lsh, and scan-count, which
          takes over the window that prefix has filled
million   prefix through three windows of a million sets, rebuilds and all
long      sets by length, one in three an edited copy: where minhash-lsh overtakes prefix. Words, of which any two sets
          share the commonest, and triples of words, as of texts
ways      prefix by what is asked of it: matches, keep, two sides, windows of rows, snapshot and restore
peers     datasketch's and rensa's MinHash LSH, query + insert + remove, one set at a time, and SetSimilaritySearch over
          the window for every 1000 sets, where they are installed

Jaccard; short sets have sizes 1 + Poisson(11) and tokens by Zipf's law over 200 000, one in ten near-duplicates. CPU
time of this thread after the window is full, caches included; medians of stretches in turn, so that other work on the
machine slows all alike. All exact ones are checked to tell the same matches.
"""

import argparse
import sys
import time
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import skyband
from skyband.text_tables import table
from skyband_specs.pair_ranker.streams import zipf

STRETCHES = 5
PERMUTATIONS = 64
Rows = list[list[Any]]
Data = tuple[Any, Any, Any]
Tables = dict[str, tuple[list[str], Rows]]


def short(sets: int, back: int) -> Data:
    """(times, offsets, tokens) of so many sets of words; near-duplicates are of one of the last `back`."""
    made = zipf(1, sets, back=back)
    return made.times, *made.flat(0, sets)


def edited(sets: int, size: int, back: int) -> Data:
    """Sets of `size` tokens, give or take half, one in three an earlier one with a hundredth of its tokens replaced."""
    rng = np.random.default_rng([7, size])
    made: list[Any] = []
    for _ in range(sets):
        if made and rng.random() < 1 / 3:
            copy = made[int(rng.integers(max(0, len(made) - back), len(made)))].copy()
            changed = rng.integers(0, len(copy), max(1, len(copy) // 100))
            copy[changed] = rng.integers(0, 2**62, len(changed))
            made.append(copy)
        else:
            made.append((rng.zipf(1.3, int(rng.integers(size // 2, size * 3 // 2))) % 2**40) * 2654435761 % 2**61)
    offsets = np.cumsum([0, *map(len, made)])
    return np.arange(sets), offsets, np.concatenate(made)


def triples(sets: int, size: int, back: int) -> Data:
    """(times, offsets, tokens) of texts as triples of words; one in three an earlier text, a word in 100 replaced."""
    rng = np.random.default_rng([8, size])
    texts: list[Any] = []
    for _ in range(sets):
        if texts and rng.random() < 1 / 3:
            text = texts[int(rng.integers(max(0, len(texts) - back), len(texts)))].copy()
            changed = rng.integers(0, len(text), max(1, len(text) // 100))
            text[changed] = rng.zipf(1.3, len(changed)) % 2**40
        else:
            text = rng.zipf(1.3, int(rng.integers(size // 2, size * 3 // 2)) + 2) % 2**40
        texts.append(text)
    factors = np.array([0x1E3779B97F4A7C15, 0x32B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
    words = [np.lib.stride_tricks.sliding_window_view(text.astype(np.uint64), 3) for text in texts]
    made = [np.unique((three * factors).sum(1) >> np.uint64(2)).view(np.int64) for three in words]
    return np.arange(sets), np.cumsum([0, *map(len, made)]), np.concatenate(made)


def cut(data: Data, start: int, stop: int) -> Data:
    """Some rows of them."""
    times, offsets, tokens = data
    cuts = offsets[start : stop + 1]
    return times[start:stop], cuts - cuts[0], tokens[cuts[0] : cuts[-1]]


def filled(name: str, data: Data, window: int, rows: int, **keys: Any) -> Any:
    """A matcher that has seen so many rows, a thousand at a time; the kernel is compiled before."""
    skyband.create("set-matcher", name, window=window, **keys).update(*cut(data, 0, 10))
    matcher: Any = skyband.create("set-matcher", name, window=window, **keys)
    for start in range(0, rows, 1000):
        matcher.update(*cut(data, start, min(start + 1000, rows)))
    return matcher


def in_turn(matchers: dict[str, Any], data: Data, start: int, sets: dict[str, int]) -> dict[str, float]:
    """Sets a second of each, the median of STRETCHES; they are given the same rows, `sets` of them in a stretch."""
    spent: dict[str, list[float]] = {name: [] for name in matchers}
    for stretch in range(STRETCHES):
        answers = {}
        for name, matcher in matchers.items():
            rows = cut(data, start + stretch * sets[name], start + (stretch + 1) * sets[name])
            begun = time.thread_time()
            answers[name] = matcher.update(*rows)
            spent[name].append((time.thread_time() - begun) / sets[name])
        agree(answers, sets)
    return {name: 1 / float(np.median(seconds)) for name, seconds in spent.items()}


def agree(answers: dict[str, Any], sets: dict[str, int]) -> None:
    """Fail unless the exact ones that were given as much told the same."""
    exact = [answer for name, answer in answers.items() if name != "minhash-lsh" and sets[name] == max(sets.values())]
    if any((mine != its).any() for other in exact[1:] for mine, its in zip(exact[0], other, strict=True)):
        raise SystemExit("the exact matchers do not agree")


def windows(given: argparse.Namespace) -> Tables:
    """Short sets by window and threshold."""
    speeds = []
    for window in given.windows:
        stretch = min(window, 20_000)
        data = short(3 * window + (STRETCHES + 1) * stretch, window // 2)
        for threshold in (0.5, 0.7, 0.9):
            names = ("prefix", "inverted", *(["minhash-lsh"] if threshold > 0.5 else []))
            matchers = {name: filled(name, data, window, 3 * window, threshold=threshold) for name in names}
            naive: Any = skyband.create("set-matcher", "scan-count", threshold=threshold, window=window)
            naive._load(matchers["prefix"]._state())
            sets = dict.fromkeys(names, stretch) | {"scan-count": max(20, 2_000_000 // window)}
            rate = in_turn(matchers | {"scan-count": naive}, data, 3 * window, sets)
            found = [rate[name] for name in ("prefix", "inverted", "scan-count")]
            ratios = [round(rate["prefix"] / rate[name], 2) for name in ("inverted", "scan-count")]
            size = [matchers[name].nbytes // len(matchers[name]) for name in ("prefix", "inverted")]
            speeds.append([window, threshold, *found, rate.get("minhash-lsh", float("nan")), *ratios, *size])
    head = ["window", "t", "prefix", "inverted", "scan-count", "minhash-lsh", "x inverted", "x scan-count"]
    return {"Sets a second of short sets": ([*head, "bytes a set", "of inverted"], speeds)}


def million(given: argparse.Namespace) -> Tables:
    """Three windows of a million."""
    window, found = 1_000_000, []
    data = short(3 * window, window // 2)
    for threshold in (0.7, 0.9):
        matcher: Any = filled("prefix", data, window, 1000, threshold=threshold)
        spent = []
        for start in range(1000, 3 * window, 50_000):
            rows = cut(data, start, min(start + 50_000, 3 * window))
            begun = time.thread_time()
            matcher.update(*rows)
            spent.append((time.thread_time() - begun) / len(rows[0]))
        whole, full = np.mean(spent), np.median(spent[len(spent) // 3 :])
        found.append([threshold, 1 / float(whole), 1 / float(full), matcher.nbytes // len(matcher)])
    return {"prefix, a window of 1,000,000": (["t", "sets a second, all", "median, full", "bytes a set"], found)}


def long(given: argparse.Namespace) -> Tables:
    """Sets by length."""
    window, found = 3000, []
    kinds: list[tuple[Callable[[int, int, int], Data], str, int]] = [
        *((edited, "words", size) for size in (12, 25, 50, 100, 200)),
        *((triples, "triples", size) for size in (100, 200)),
    ]
    for make, kind, size in kinds:
        data = make(2 * window + (STRETCHES + 1) * 1000, size, window // 2)
        for threshold in (0.7, 0.9):
            names = ("prefix", "inverted", "minhash-lsh")
            matchers = {name: filled(name, data, window, 2 * window, threshold=threshold) for name in names}
            rate = in_turn(matchers, data, 2 * window, dict.fromkeys(names, 1000))
            size_of = [matchers[name].nbytes // len(matchers[name]) for name in names]
            ratio = rate["minhash-lsh"] / rate["prefix"]
            found.append([f"{size} {kind}", threshold, *(rate[name] for name in names), round(ratio, 2), *size_of])
    head = ["tokens", "t", "prefix", "inverted", "minhash-lsh", "minhash-lsh x prefix"]
    return {f"Sets a second by length, window {window}": ([*head, "bytes a set", "of inverted", "of minhash"], found)}


def ways(given: argparse.Namespace) -> Tables:
    """What is asked of prefix, at the largest window."""
    window, found = max(given.windows), []
    data = short(3 * window + (STRETCHES + 1) * 20_000, window // 2)
    asked: dict[str, dict[str, Any]] = {
        'matches = "all"': {},
        "matches = 1": {"matches": 1},
        "matches = 10": {"matches": 10},
        'keep = "first"': {"keep": "first", "matches": 1},
        "window of rows": {"by": "rows"},
    }
    matchers = {what: filled("prefix", data, window, 3 * window, threshold=0.7, **keys) for what, keys in asked.items()}
    rate = {}
    for what, matcher in matchers.items():
        rate |= in_turn({what: matcher}, data, 3 * window, {what: 20_000})
    begun = time.thread_time()
    blob = matchers['matches = "all"'].snapshot()
    saved = time.thread_time()
    skyband.restore(blob)
    restored = time.thread_time()
    found = [[what, value] for what, value in rate.items()]
    found += [["snapshot", window / (saved - begun)], ["restore", window / (restored - saved)]]
    return {f"Sets a second of prefix, t = 0.7, window {window:,}": (["asked", "sets a second"], found)}


def peers(given: argparse.Namespace) -> Tables:
    """What a user would pick instead, at a window of 5000."""
    window, sets, found = 5000, 2000, []
    data = short(2 * window + (STRETCHES + 1) * sets, window // 2)
    tokens = [set(data[2][a:b].tolist()) for a, b in zip(data[1], data[1][1:], strict=False)]
    words = [[str(token) for token in one] for one in tokens]
    for threshold in (0.5, 0.7, 0.9):
        matcher = filled("prefix", data, window, 2 * window, threshold=threshold)
        own = in_turn({"prefix": matcher}, data, 2 * window, {"prefix": sets})["prefix"]
        for name, run in (("datasketch", _datasketch), ("rensa", _rensa), ("SetSimilaritySearch", _search)):
            try:
                import_module(name)
            except ImportError:
                continue
            rate = run(tokens if name == "SetSimilaritySearch" else words, window, sets, threshold)
            found.append([threshold, name, own, rate, round(own / rate, 1)])
    return {"Beside others, window 5000": (["t", "peer", "prefix", "peer's", "x"], found)}


def _lsh(sketches: list[Any], index: Any, window: int, sets: int) -> float:
    """Sets a second of querying, inserting and removing, the window full."""
    held: deque[int] = deque()
    begun = 0.0
    for number in range(window + sets):
        if number == window:
            begun = time.thread_time()
        index.query(sketches[number]())
        index.insert(number, sketches[number]())
        held.append(number)
        if len(held) > window:
            index.remove(held.popleft())
    return sets / (time.thread_time() - begun)


def _datasketch(words: list[list[str]], window: int, sets: int, threshold: float) -> float:
    from datasketch import MinHash, MinHashLSH

    def sketch(one: list[str]) -> Any:
        made = MinHash(num_perm=PERMUTATIONS)
        made.update_batch([word.encode() for word in one])
        return made

    return _lsh([_once(sketch, one) for one in words], MinHashLSH(threshold, PERMUTATIONS), window, sets)


def _rensa(words: list[list[str]], window: int, sets: int, threshold: float) -> float:
    from rensa import RMinHash, RMinHashLSH

    def sketch(one: list[str]) -> Any:
        made = RMinHash(num_perm=PERMUTATIONS, seed=1)
        made.update(one)
        return made

    bands = {0.5: 32, 0.7: 16, 0.9: 8}[threshold]
    index = RMinHashLSH(threshold=threshold, num_perm=PERMUTATIONS, num_bands=bands)
    return _lsh([_once(sketch, one) for one in words], index, window, sets)


def _once(sketch: Any, one: Any) -> Any:
    """A call that makes the sketch at the first and gives it again at the second."""
    made: list[Any] = []

    def get() -> Any:
        if not made:
            made.append(sketch(one))
        return made[0]

    return get


def _search(tokens: list[set[int]], window: int, sets: int, threshold: float) -> float:
    """All pairs of the window again for every 1000 sets."""
    from SetSimilaritySearch import all_pairs

    begun = time.thread_time()
    for start in range(window, window + sets, 1000):
        held = [one for one in tokens[start + 1000 - window : start + 1000] if one]
        for _ in all_pairs(held, similarity_func_name="jaccard", similarity_threshold=threshold):
            continue
    return sets / (time.thread_time() - begun)


PARTS = {"windows": windows, "million": million, "long": long, "ways": ways, "peers": peers}


def main() -> int:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure (all)")
    parser.add_argument("--windows", type=int, nargs="*", default=[10_000, 100_000])
    given = parser.parse_args()
    for name in given.parts or PARTS:
        for title, (headers, rows) in PARTS[name](given).items():
            sys.stdout.write(f"\n{title}\n\n")
            table(headers, [[round(v) if isinstance(v, float) and v > 100 else v for v in row] for row in rows])
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
