"""Every default on the streams and settings that are hardest for it, beside its typical stream.

    python tests/bench/one_process/worst.py [ROLE …] [--rows 0.25]

Nanoseconds of this thread a row, answers included, over the second half of a stream: medians of three. `ratio` is
that over the role's typical stream, `a result` the same where each row of an answer counts as much as a row taken in:
a window that slides by one row answers with k objects a row, whatever does it. MB is the state at the end.

Where `a result` is above 3, and why:

- matcher, 64 samples: a match is a sum over pairs of samples, and there are 164 times as many as with five.
- window, of 10,000: an arrival costs O(sqrt(v)), v being the variance of how many exist, 20 times that of 500 tuples.
- sketch, an estimate every 128 rows: any moment may be asked for, so an estimate reads the stamps of all cells, 0.75 MB
  or 10 to 15 µs, where 128 typical rows take 0.7: 14 times that by itself. A count kept up to date would need the cells
  in order of time, at least as many bytes again. The rest are two calls of Python, 20 µs, which is no proof.
- total-ranker, no object repeats, with --rows 0.25 only: 1.6 to 2.6 as a rule, and 3.1 to 3.4 where the process has the
  memory of the typical stream from before. The table grows from 4 MB to 8 in the 50,000 rows measured. No proof.
- total-ranker, no object repeats, in no order: 2.4 to 3.1, but 3.3 to 4.9 with --rows 0.5, where the table grows again
  within the rows measured, and with 2, where it is half full more of the time. Objects whose numbers follow each other
  lie side by side, these each at a place of its own, in 17 MB where the typical 10,000 take 1. No proof.

Where only `ratio` is, a row has many results: k = 10,000, a slide of one row, a low threshold, identical sets.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import skyband
from attrs import frozen
from skyband.text_tables import table
from skyband_specs.matcher.streams import perturbed
from skyband_specs.object_ranker.streams import paper
from skyband_specs.pair_ranker.streams import zipf
from skyband_specs.sketch.streams import paper_random
from skyband_specs.window.streams import existences

ROUNDS = 3
BATCH = 16_384
Feed = Callable[[Any, int, int], int]
"""Takes rows [begin, end) of a stream into a backend, and tells how many rows its answers had."""


@frozen
class Case:
    """A stream of so many rows for a backend with these parameters."""

    name: str
    parameters: dict[str, Any]
    rows: int
    feed: Feed


def main() -> None:
    """Print a table a role."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roles", nargs="*", choices=[*ROLES, []], help="all unless given")
    parser.add_argument("--rows", type=float, default=1.0, help="this part of the rows")
    options = parser.parse_args()
    for role in options.roles or ROLES:
        lines: list[list[Any]] = []
        typical = None
        for case in ROLES[role](options.rows):
            nanoseconds, results, megabytes = measured(role, case)
            typical = typical or (nanoseconds, nanoseconds / (1 + results))
            ratios = [nanoseconds / typical[0], nanoseconds / (1 + results) / typical[1]]
            lines.append([case.name, nanoseconds, results, *ratios, megabytes])
        table([role, "ns a row", "results a row", "ratio", "a result", "MB"], lines)
        print(flush=True)  # noqa: T201


def measured(role: str, case: Case) -> tuple[float, float, float]:
    """ns a row, results a row and megabytes of a case."""
    taken, half = [], case.rows // 2
    for _ in range(ROUNDS):
        backend = skyband.create(role, **case.parameters)
        fed(case, backend, 0, half)
        started = time.thread_time()
        results = fed(case, backend, half, case.rows)
        taken.append((time.thread_time() - started) / (case.rows - half) * 1e9)
    return sorted(taken)[ROUNDS // 2], results / (case.rows - half), backend.nbytes / 1e6


def fed(case: Case, backend: Any, begin: int, end: int) -> int:
    """Feed a part of a case batch by batch; returns how many rows the answers had."""
    return sum(case.feed(backend, at, min(at + BATCH, end)) for at in range(begin, end, BATCH))


def clocks(rows: int) -> dict[str, Any]:
    """Times by name: one row a moment, all at one moment, and bursts with gaps as long as any window."""
    bursts = np.arange(rows) // 1000 * 1000
    return {"all at one time": np.zeros(rows, np.int64), "bursts and gaps": bursts + bursts // 20_000 * 200_000}


def shapes(rows: int) -> dict[str, Any]:
    """Scores by name."""
    rng, numbers = np.random.default_rng(1), np.arange(rows)
    return {
        "uniform": rng.random(rows),
        "rising": numbers / rows * 16 + rng.random(rows),
        "falling": -numbers / rows * 16 + rng.random(rows),
        "always higher": numbers.astype(float),
        "always lower": -numbers.astype(float),
        "all tied": np.zeros(rows),
        "few scores": rng.integers(0, 4, rows).astype(float),
    }


def sketches(part: float) -> list[Case]:
    """Keys half of which repeat; then few, one, and none that repeats; each batch is followed by an estimate."""
    rows = int(2_000_000 * part)
    typical = paper_random(1, rows, 0.5)

    def case(name: str, times: Any, keys: Any, estimates: int = 1) -> Case:
        def feed(backend: Any, begin: int, end: int) -> int:
            step = -(-(end - begin) // estimates)
            for at in range(begin, end, step):
                backend.update(times[at : min(at + step, end)], keys[at : min(at + step, end)])
                backend.estimate(int(times[min(at + step, end) - 1]) - 100_000)
            return estimates

        return Case(name, {}, rows, feed)

    numbers = np.arange(rows)
    fresh = (np.random.default_rng(2).integers(0, 2**63, rows)).astype(np.uint64)
    return [
        case("typical: half the keys repeat", typical.times, typical.keys),
        case("no key repeats", numbers, fresh),
        case("one key", numbers, np.full(rows, 7, np.uint64)),
        *(case(name, times, typical.keys) for name, times in clocks(rows).items()),
        case("an estimate every 128 rows", typical.times, typical.keys, 128),
    ]


def windows(part: float) -> list[Case]:
    """Probabilities of deviation 0.1, and those that make every arrival hard or the window long."""
    rows = int(200_000 * part)
    rng = np.random.default_rng(3)

    def case(name: str, p: Any, size: int = 500, alpha: float = 0.95) -> Case:
        def feed(backend: Any, begin: int, end: int) -> int:
            backend.append(p[begin:end])
            return 0

        return Case(name, {"size": size, "alpha": alpha}, len(p), feed)

    mixed = rng.permutation(np.append(np.arange(1, 500) / 1000, 1 - np.arange(1, 500) / 1000))
    return [
        case("typical: deviation 0.1", existences(1, rows, 0.1)),
        case("probability 1", np.ones(rows)),
        case("probability 0.5", np.full(rows, 0.5)),
        case("probability 0.01", np.full(rows, 0.01)),
        case("probability 1e-9 but for few", np.where(rng.random(rows) < 0.1, 0.9, 1e-9)),
        case("0 or 1", rng.integers(0, 2, rows).astype(float)),
        case("every arrival an exact tie", np.full(rows, 0.5), alpha=0.5),
        case("ties of 998 probabilities", np.resize(np.append(mixed, 0.5), rows), alpha=0.5),
        case("ties, one in four certain", np.resize([0.5, 0.5, 0.5, 1.0], rows), alpha=0.5),
        case("a window of one", existences(1, rows, 0.1), size=1),
        case("a window of 10,000", existences(1, rows, 0.1), size=10_000),
    ]


def matchers(part: float) -> list[Case]:
    """Five samples a tuple; a batch is appended, then each of its tuples matched against the 1000 before it."""
    rows, held = int(40_000 * part), 1000
    walk = np.random.default_rng(4).normal(0.0, 10.0, rows)

    def case(name: str, stream: Any, held: int = held, beta: float = 0.5, epsilon: float = 0.02) -> Case:
        offsets, values, chances = stream.flat(0, rows)

        def feed(backend: Any, begin: int, end: int) -> int:
            cuts = offsets[begin : end + 1] - offsets[begin]
            some = values[offsets[begin] : offsets[end]], chances[offsets[begin] : offsets[end]]
            backend.append(cuts, *some)
            ends = np.arange(begin, end)
            starts = np.maximum(ends - held, backend.start)
            found, _, _ = backend.match_all(cuts, *some, starts, ends)
            backend.evict(max(end - held, backend.start))
            return len(found)

        return Case(name, {"epsilon": epsilon, "beta": beta}, rows, feed)

    plain = perturbed(walk, 1, samples=5)
    return [
        case("typical: values of a normal walk", plain),
        case("one value", perturbed(np.zeros(rows), 1, samples=5)),
        case("two values far apart", perturbed(np.where(np.arange(rows) % 2, 1e6, -1e6), 1, samples=5)),
        case("rising", perturbed(np.arange(rows) / 10, 1, samples=5)),
        case("one sample", perturbed(walk, 1, samples=1)),
        case("64 samples", perturbed(walk, 1, samples=64)),
        case("a window of one", plain, held=1),
    ]


def object_rankers(part: float) -> list[Case]:
    """Three streams, sums, top 10 of 10,000 rows, an answer for every 100 rows."""
    rows = int(200_000 * part)
    stream = paper(1, rows, 3)

    def case(name: str, k: int = 10, window: int = 10_000, slide: int = 100, **columns: Any) -> Case:
        used = {"times": np.arange(rows), "streams": stream.streams, "objects": stream.objects, "values": stream.values}
        used |= columns
        by = "time" if "times" in columns else "rows"

        def feed(backend: Any, begin: int, end: int) -> int:
            some = [column[begin:end] for column in used.values()]
            low, high = some[0][0], some[0][-1] + (by == "rows")
            moments = np.arange(-(-low // slide) * slide, high + 1, slide)
            return len(backend.answers(*some, moments[moments >= (backend.now or 0)])[1])

        parameters = {"k": k, "window": window, "streams": 3, "aggregate": "sum", "by": by, "upper": 1.0}
        return Case(name, parameters, rows, feed)

    numbers = np.arange(rows)
    return [
        case("typical: the paper's generator"),
        case("values rise", values=numbers / rows),
        case("values fall", values=1 - numbers / rows),
        case("all tied", values=np.full(rows, 0.5)),
        case("one object", objects=np.zeros(rows, np.int64)),
        case("no object repeats", objects=numbers),
        case("no object repeats, all tied", objects=numbers, values=np.full(rows, 0.5)),
        *(case(name, times=times) for name, times in clocks(rows).items()),
        case("k = 10,000", k=10_000),
        case("a window of one row", window=1),
        case("a slide of one row", slide=1),
    ]


def pair_rankers(part: float) -> list[Case]:
    """Sets of 12 tokens by Zipf's law, top 10 pairs of 10,000 sets, an answer for every 100 sets."""
    rows = int(40_000 * part)
    stream = zipf(1, rows)
    zipfian = stream.flat(0, rows)

    def even(tokens: Any) -> tuple[Any, Any]:
        return np.arange(rows + 1) * tokens.shape[1], tokens.ravel()

    def case(
        name: str, data: Any = zipfian, k: int = 10, window: int = 10_000, slide: int = 100, times: Any = None
    ) -> Case:
        offsets, tokens = data
        moments_of = np.arange(rows) if times is None else times

        def feed(backend: Any, begin: int, end: int) -> int:
            some = moments_of[begin:end]
            moments = np.arange(-(-some[0] // slide) * slide, some[-1] + 1, slide)
            cuts, words = offsets[begin : end + 1] - offsets[begin], tokens[offsets[begin] : offsets[end]]
            return len(backend.answers(some, cuts, words, moments[moments >= (backend.now or 0)])[1])

        return Case(name, {"k": k, "window": window, "similarity": "jaccard"}, rows, feed)

    numbers = np.arange(rows)
    own = numbers[:, None] * 12 + np.arange(12)
    return [
        case("typical: Zipf, a tenth near-duplicates"),
        case("identical sets", even(np.tile(np.arange(12), (rows, 1)))),
        case("identical sets, two kinds", even((numbers % 2)[:, None] * 12 + np.arange(12))),
        case("no token shared", even(own)),
        case("one token shared by all", even(np.column_stack((np.zeros(rows, np.int64), own[:, 1:])))),
        case("one token a set", even((numbers % 1000)[:, None])),
        case(
            "12 of 24 tokens",
            even(np.random.default_rng(5).permuted(np.tile(np.arange(24), (rows, 1)), axis=1)[:, :12]),
        ),
        *(case(name, times=times) for name, times in clocks(rows).items()),
        case("k = 10,000", k=10_000),
        case("a window of one set", window=1),
        case("a slide of one set", slide=1),
    ]


def set_matchers(part: float) -> list[Case]:
    """Sets of 12 tokens by Zipf's law, those at least 0.8 similar of 10,000 sets."""
    rows = int(40_000 * part)
    zipfian = zipf(1, rows).flat(0, rows)

    def even(tokens: Any) -> tuple[Any, Any]:
        return np.arange(rows + 1) * tokens.shape[1], tokens.ravel()

    def case(name: str, data: Any = zipfian, times: Any = None, **parameters: Any) -> Case:
        offsets, tokens = data
        moments = np.arange(rows) if times is None else times

        def feed(backend: Any, begin: int, end: int) -> int:
            cuts, words = offsets[begin : end + 1] - offsets[begin], tokens[offsets[begin] : offsets[end]]
            return len(backend.update(moments[begin:end], cuts, words)[1])

        return Case(name, {"threshold": 0.8, "window": 10_000, **parameters}, rows, feed)

    numbers = np.arange(rows)
    own = numbers[:, None] * 12 + np.arange(12)
    identical = even(np.tile(np.arange(12), (rows, 1)))
    few = np.random.default_rng(5).permuted(np.tile(np.arange(24), (rows, 1)), axis=1)[:, :12]
    return [
        case("typical: Zipf, a tenth near-duplicates"),
        case("identical sets, a window of 1000", identical, window=1000),
        case("identical sets, the best match only", identical, matches=1),
        case("identical sets, the first kept", identical, keep="first"),
        case("no token shared", even(own)),
        case("one token shared by all", even(np.column_stack((np.zeros(rows, np.int64), own[:, 1:])))),
        case("one token a set", even((numbers % 1000)[:, None])),
        case("12 of 24 tokens", even(few)),
        *(case(name, times=times) for name, times in clocks(rows).items()),
        case("threshold 0.1", threshold=0.1),
        case("a window of one set", window=1),
    ]


def total_rankers(part: float) -> list[Case]:
    """Rows of 10,000 objects by Zipf's law, the 100 with most in each of 100 panes of 1000 rows."""
    rows = int(400_000 * part)
    rng = np.random.default_rng(7)
    ranks = np.searchsorted(np.cumsum(1 / np.arange(1, 10_001)), rng.random(rows) * (1 / np.arange(1, 10_001)).sum())

    def case(
        name: str, objects: Any = ranks, times: Any = None, weights: Any = None, every: int = 1000, **parameters: Any
    ) -> Case:
        moments = np.arange(rows) if times is None else times
        chosen = {"windows": [100_000], "every": every, "k": 100} | parameters

        def feed(backend: Any, begin: int, end: int) -> int:
            some = moments[begin:end]
            asked = np.arange(-(-some[0] // every) * every, some[-1] + 1, every)
            asked = asked[(asked >= (backend.now or 0)) & (asked > (-1 if backend.latest is None else backend.latest))]
            heavy = {} if weights is None else {"weights": weights[begin:end]}
            return len(backend.answers(some, objects[begin:end], **heavy, moments=asked).objects)

        return Case(name, chosen | ({"total": "sum"} if weights is not None else {}), rows, feed)

    numbers = np.arange(rows)
    return [
        case("typical: Zipf, 10,000 objects"),
        case("one object", np.zeros(rows, np.int64)),
        case("no object repeats", numbers),
        case("no object repeats, in no order", np.random.default_rng(8).permutation(rows)),
        case("all tied", numbers % 10_000),
        case("sums: amounts of 1 to 100", weights=rng.integers(1, 101, rows).astype(float)),
        case("sums: rising amounts", weights=numbers.astype(float)),
        case("sums: falling amounts", weights=(rows - numbers).astype(float)),
        *(case(name, times=times) for name, times in clocks(rows).items()),
        case("k = 10,000", k=10_000),
        case("a window of one row", windows=[1], every=1),
        case("a slide of ten rows", every=10),
        case("a slide of one row", windows=[10_000], every=1, k=10),
    ]


def workload_rankers(part: float) -> list[Case]:
    """Six queries of windows from 10,000 to 100,000 rows."""
    rows = int(800_000 * part)
    queries = [(100_000, 10_000, 100), (100_000, 5000, 10), (50_000, 5000, 50), (25_000, 5000, 10)]
    queries += [(25_000, 2500, 100), (10_000, 2500, 5)]
    scores = shapes(rows)

    def case(name: str, values: Any = scores["uniform"], wanted: Any = queries, times: Any = None) -> Case:
        moments = np.arange(rows) if times is None else times
        objects = np.arange(rows)

        def feed(backend: Any, begin: int, end: int) -> int:
            return len(backend.update(moments[begin:end], objects[begin:end], values[begin:end]).objects)

        return Case(name, {"queries": wanted, "by": "rows" if times is None else "time"}, rows, feed)

    shuffled = np.random.default_rng(6).permutation(rows)
    return [
        case("typical: uniform scores"),
        *(case(name, values) for name, values in scores.items() if name != "uniform"),
        case("shuffled", shuffled.astype(float)),
        *(case(name, times=times) for name, times in clocks(rows).items()),
        case("k = 10,000", wanted=[(window, slide, 100 * k) for window, slide, k in queries]),
        case("a window of one row", wanted=[(1, 1, 1)]),
        case("a slide of one row", wanted=[(10_000, 1, 5)]),
        case("slides of 7 beside windows of 100,000", wanted=[*queries, (100, 7, 5)]),
        case("falling, slides of 7 beside 100,000", scores["falling"], [*queries, (100, 7, 5)]),
    ]


ROLES: dict[str, Callable[[float], list[Case]]] = {
    "sketch": sketches,
    "window": windows,
    "matcher": matchers,
    "object-ranker": object_rankers,
    "pair-ranker": pair_rankers,
    "workload-ranker": workload_rankers,
    "set-matcher": set_matchers,
    "total-ranker": total_rankers,
}

if __name__ == "__main__":
    main()
