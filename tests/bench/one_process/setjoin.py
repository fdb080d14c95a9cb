"""The rankers of pairs against each other, their paper and what a user would pick instead, in one run.

    python tests/bench/one_process/setjoin.py windows | k | calls | peers [--windows 1000 10000 100000] [--pictures DIR]

windows   sets a second and stock against the window for swoop, scase and base (k = 10), as in section 7
k         swoop by k at the largest window
calls     swoop through update() and top() of Python for each set, and through answers() in batches
peers     MinHashLSH of datasketch over a sliding window (approximate, thresholded) and all pairs recomputed by
          SetSimilaritySearch, where they are installed, beside swoop

Jaccard; sizes 1 + Poisson(11), tokens by Zipf's law over 200 000, 10 % near-duplicates. CPU time of this thread after
the window is full; best and median of several stretches, as other work on the machine makes single ones slow.
`scase` takes over the window and the stock that swoop has filled, `base` those of a swoop that keeps every pair. A
window of 10 000 has some 30 million pairs, so above 5000 sets base's figures are those at 5000, which bound it: it
meets more sets and passes over more pairs the larger the window.
"""

import argparse
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import skyband
from skyband.text_tables import table
from skyband_specs.pair_ranker.streams import zipf

FULL_BASE = 5000
EVERY_PAIR = 2**40
STRETCHES = 7
Rows = list[list[Any]]
Tables = dict[str, tuple[list[str], Rows]]
Data = tuple[Any, Any, Any]


def stream(sets: int, back: int) -> Data:
    """(times, offsets, tokens) of so many sets; near-duplicates are of one of the last `back`."""
    made = zipf(1, sets, back=back)
    return (made.times, *made.flat(0, sets))


def cut(data: Data, start: int, stop: int) -> Data:
    """Some rows of them."""
    times, offsets, tokens = data
    cuts = offsets[start : stop + 1]
    return times[start:stop], cuts - cuts[0], tokens[cuts[0] : cuts[-1]]


def filled(name: str, k: int, window: int, data: Data) -> Any:
    """A ranker whose window is full: swoop fills it, and the others take over its sets and stock."""
    kept = EVERY_PAIR if name == "base" else k
    ranker: Any = skyband.create("pair-ranker", "swoop", k=kept, window=window)
    for start in range(0, window, 1000):
        ranker.update(*cut(data, start, min(start + 1000, window)))
    ranker._settle()
    if name == "swoop":
        return ranker
    other: Any = skyband.create("pair-ranker", name, k=k, window=window)
    other._load(ranker._state())
    return other


def rates(ranker: Any, data: Data, sets: int, every: int) -> tuple[float, float]:
    """Sets a second, best and median of STRETCHES of so many sets each, with an answer every `every` sets."""
    spent = []
    for _ in range(STRETCHES):
        start = ranker.seen
        rows = cut(data, start, start + sets)
        begun = time.thread_time()
        ranker.answers(*rows, rows[0][::every])
        spent.append(time.thread_time() - begun)
    return sets / min(spent), sets / float(np.median(spent))


def windows(given: Any) -> Tables:
    """The three rankers by window, and how many times faster than the others swoop is."""
    speeds, held = [], []
    for window in given.windows:
        data = stream(window + 30 * 1000, window // 2)
        swoop, warm = filled("swoop", 10, window, data), filled("swoop", 10, window, data)
        rates(warm, data, 10, 1)
        best, median = rates(swoop, data, 1000, 1000)
        each, _ = rates(swoop, data, 1000, 1)
        scase, base = filled("scase", 10, window, data), filled("base", 10, min(window, FULL_BASE), data)
        by_scase = rates(scase, data, max(10, min(200, 1_000_000 // window)), 1000)[0]
        by_base = rates(base, data, 5, 1000)[0]
        speeds.append([window, best, median, each, by_scase, by_base, best / by_scase, best / by_base])
        held.append([window, len(swoop), len(scase), len(base), swoop.nbytes / 1e6])
    head = ["window", "swoop", "median", "an answer each", "scase", "base, at most", "x scase", "x base, at least"]
    return {
        "Sets a second by window, k = 10, an answer every 1000 sets": (head, speeds),
        "Pairs in the stock by window": (["window", "swoop", "scase", "base, at least", "MB of swoop"], held),
    }


def by_k(given: Any) -> Tables:
    """Swoop at the largest window."""
    window, rows = max(given.windows), []
    data = stream(window + 30 * 1000, window // 2)
    for k in (10, 100, 1000):
        ranker = filled("swoop", k, window, data)
        best, median = rates(ranker, data, 1000, 1000)
        rows.append([k, best, median, rates(ranker, data, 300, 1)[0], len(ranker)])
    return {
        f"Sets a second of swoop by k, window of {window:,}": (
            ["k", "an answer every 1000", "median", "an answer each", "pairs in the stock"],
            rows,
        )
    }


def calls(given: Any) -> Tables:
    """What a call from Python costs where there is one for each set."""
    window, sets, rows = max(given.windows), 3000, []
    data = stream(window + 30 * 1000, window // 2)
    ranker = filled("swoop", 10, window, data)
    for what in ("update and top of one set", "update of one set"):
        spent = []
        for _ in range(3):
            ones = [cut(data, row, row + 1) for row in range(ranker.seen, ranker.seen + sets)]
            begun = time.thread_time()
            for one in ones:
                ranker.update(*one)
                if "top" in what:
                    ranker.top()
            spent.append(time.thread_time() - begun)
        rows.append([what, sets / min(spent)])
    rows.append(["answers, 1000 sets a call, an answer each", rates(ranker, data, 1000, 1)[0]])
    return {f"Sets a second of swoop by the way it is called, k = 10, window of {window:,}": (["way", "sets/s"], rows)}


def peers(given: Any) -> Tables:
    """The two that are there for the taking; both want a threshold in place of k."""
    window, sets = 5000, 2000
    data = stream(window + 30 * 1000, window // 2)
    ranker = filled("swoop", 10, window, data)
    rows = [["swoop, exact top 10 after every set", rates(ranker, data, sets, 1)[0]]]
    entries = [cut(data, row, row + 1)[2].tolist() for row in range(window + sets)]
    for name, peer in {
        "MinHashLSH, 64 permutations, approximate": lsh,
        "SetSimilaritySearch, recomputed": again,
    }.items():
        try:
            rows.append([f"{name}, pairs of at least 0.7", peer(entries, window)])
        except ImportError as error:
            sys.stdout.write(f"{name}: {error}\n")
    return {f"Sets a second at a window of {window:,}": (["what", "sets/s"], rows)}


def lsh(entries: list[list[int]], window: int) -> float:
    """Query, insert and remove for each set."""
    from datasketch import MinHash, MinHashLSH

    index, held = MinHashLSH(threshold=0.7, num_perm=64), deque[int]()
    begun = 0.0
    for number, tokens in enumerate(entries):
        if number == window:
            begun = time.thread_time()
        sketch = MinHash(num_perm=64)
        sketch.update_batch([token.to_bytes(8, "little") for token in tokens])
        index.query(sketch)
        index.insert(number, sketch)
        held.append(number)
        if len(held) > window:
            index.remove(held.popleft())
    return (len(entries) - window) / (time.thread_time() - begun)


def again(entries: list[list[int]], window: int) -> float:
    """All pairs of the window for each set; one of them is enough to know."""
    from SetSimilaritySearch import all_pairs

    begun = time.thread_time()
    list(all_pairs([set(tokens) for tokens in entries[:window]], "jaccard", 0.7))
    return 1 / (time.thread_time() - begun)


def draw(name: str, tables: Tables, folder: Path) -> None:
    """One picture a table of windows or k: its first column along, a line for each other one."""
    sys.path.append(str(Path(__file__).parents[2]))
    from bench import pictures

    for number, (title, (headers, rows)) in enumerate(tables.items(), 1):
        drawn = [place for place, header in enumerate(headers) if not header.startswith(("x ", "MB"))]
        if not isinstance(rows[0][0], str):
            some = [[row[place] for place in drawn] for row in rows]
            unit = "pairs" if title.startswith("Pairs") else "sets a second"
            measured = pictures.Measured(title, [headers[place] for place in drawn], some, unit, len(drawn) - 1)
            pictures.draw(measured, folder / f"setjoin-{name}-{number}.svg")


PARTS = {"windows": windows, "k": by_k, "calls": calls, "peers": peers}


def main() -> int:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=list(PARTS), help="what to measure (all)")
    parser.add_argument("--windows", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--pictures", type=Path, help="a folder to draw the tables in")
    given = parser.parse_args()
    for name in given.parts or PARTS:
        measured = PARTS[name](given)
        for title, (headers, rows) in measured.items():
            sys.stdout.write(f"\n{title}\n\n")
            table(headers, [[round(value) if isinstance(value, float) else value for value in row] for row in rows])
            sys.stdout.flush()
        if given.pictures:
            draw(name, measured, given.pictures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
