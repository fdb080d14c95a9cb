"""What the engine costs on top of its backend: the operator in one process, beside the bare backend of each family.

    python tests/bench/overhead.py [FAMILY…] [--rows 1000000] [--batch 65536] [--every DURATION] [--rounds 5]

    backend   the family's default, fed the columns that its role takes as numpy arrays, batch by batch, and asked at
              the same moments; ids are hashed, lists are flat and moments are known beforehand
    engine    the local engine over the same rows as Arrow batches: reads, checks and hashes columns, orders rows,
              walks the moments, gives the answers as Arrow
    pushed    the same, a batch at a time with its answers, as a stream would have it

All run in turn; medians of CPU seconds are printed, and how many times the backend's the engine takes.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import skyband
from family_streams import FAMILIES
from skyband.columns.hashing import hash_column
from skyband.engines import local
from skyband.queries import make_query
from skyband.queries.query import Query
from skyband.text_tables import table
from skyband_uncertain.uncertain_tuples import Samples

ROWS = {"near-duplicates": 200_000, "top-k-pairs": 200_000, "uncertain-join": 200_000}
"""Of the families whose backends do most."""

Run = Callable[[], None]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", default=[*BARE], help=", ".join(BARE))
    parser.add_argument("--rows", type=int, help="of each; 1,000,000, or 200,000 of sets and joins")
    parser.add_argument("--batch", type=int, default=65_536)
    parser.add_argument("--every", metavar="DURATION", help="between answers, of families that have it")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = [_measured(name, options) for name in options.families]
    table(["family", "rows", "backend, rows/s", "engine, rows/s", "times", "pushed, rows/s", "times"], rows)


def _measured(name: str, options: argparse.Namespace) -> list[Any]:
    family, rows = FAMILIES[name], options.rows or ROWS.get(name, 1_000_000)
    every = {"every": options.every} if options.every and "every" in family.keys else {}
    data, query = family.make(rows), make_query(family.query | every)
    batches = data.combine_chunks().to_batches(max_chunksize=options.batch)
    bare, ways = BARE[name](query, batches), (lambda: _applied(batches, query), lambda: _pushed(batches, query))
    taken: list[list[float]] = [[], [], []]
    for number in range(options.rounds + 1):
        for seconds, run in zip(taken, (bare, *ways), strict=True):
            started = time.process_time()
            run()
            if number:  # the first round compiles
                seconds.append(time.process_time() - started)
    own, *others = map(statistics.median, taken)
    sys.stderr.write(f"{name}: {[[round(second, 4) for second in seconds] for seconds in taken]}\n")
    figures = [figure for took in others for figure in (f"{rows / took:,.0f}", f"{took / own:.1f}")]
    return [name, f"{rows:,}", f"{rows / own:,.0f}", *figures]


def _applied(batches: list[pa.RecordBatch], query: Query) -> None:
    local.apply(iter(batches), query)


def _pushed(batches: list[pa.RecordBatch], query: Query) -> None:
    run = local.LocalRun.start(query, batches[0].schema)
    for batch in batches:
        run.push(batch)
    run.finish()


def _times(batch: pa.RecordBatch) -> Any:
    return batch["ts"].cast(pa.int64()).to_numpy()


def _numpy(batch: pa.RecordBatch, *names: str) -> list[Any]:
    return [batch[name].to_numpy() for name in names]


def _moments(batches: list[pa.RecordBatch], every: int) -> list[Any]:
    """The moments after each batch's first row, up to and with its last one."""
    found, reached = [], 0
    for batch in batches:
        last = int(_times(batch)[-1])
        found.append(np.arange(reached // every + 1, last // every + 1) * every)
        reached = last
    return found


def _distinct(query: Any, batches: list[pa.RecordBatch]) -> Run:
    every, window = query.every.length, query.windows[0].length
    given = []
    for batch, moments in zip(batches, _moments(batches, every), strict=True):
        times = _times(batch)
        given.append((times, hash_column(batch["client"]), moments, [*np.searchsorted(times, moments), len(times)]))

    def run() -> None:
        sketch: Any = skyband.create("sketch")
        for times, keys, moments, cuts in given:
            start = 0
            for number, stop in enumerate(cuts):
                if stop > start:
                    sketch.update(times[start:stop], keys[start:stop])
                if number < len(moments):
                    since = int(moments[number]) - window
                    sketch.estimate(since)
                    sketch.bounds(since)
                    sketch.forget(since)
                start = stop

    return run


def _totals(query: Any, batches: list[pa.RecordBatch]) -> Run:
    given = [
        (_times(batch), *_numpy(batch, "client"), moments)
        for batch, moments in zip(batches, _moments(batches, query.every.length), strict=True)
    ]

    def run() -> None:
        ranker: Any = skyband.create("total-ranker", **query.backend_parameters("total-ranker"))
        for times, clients, moments in given:
            ranker.answers(times, clients, moments=moments)

    return run


def _objects(query: Any, batches: list[pa.RecordBatch]) -> Run:
    given = [
        (_times(batch), *_numpy(batch, "stream", "object", "value"), moments - 1)
        for batch, moments in zip(batches, _moments(batches, query.every.length), strict=True)
    ]

    def run() -> None:
        ranker: Any = skyband.create("object-ranker", **query.backend_parameters("object-ranker"))
        for batch in given:
            ranker.answers(*batch)

    return run


def _workload(query: Any, batches: list[pa.RecordBatch]) -> Run:
    given = [(_times(batch), *_numpy(batch, "object", "score")) for batch in batches]

    def run() -> None:
        ranker: Any = skyband.create("workload-ranker", **query.backend_parameters("workload-ranker"))
        for batch in given:
            ranker.update(*batch)

    return run


def _pairs(query: Any, batches: list[pa.RecordBatch]) -> Run:
    given = []
    for batch, moments in zip(batches, _moments(batches, query.every.length), strict=True):
        lists = batch["tokens"]
        cuts = lists.offsets.to_numpy().astype(np.int64)
        given.append((_times(batch), cuts - cuts[0], lists.flatten().to_numpy(), moments - 1))

    def run() -> None:
        ranker: Any = skyband.create("pair-ranker", **query.backend_parameters("pair-ranker"))
        for batch in given:
            ranker.answers(*batch)

    return run


def _near(query: Any, batches: list[pa.RecordBatch]) -> Run:
    given = []
    for batch in batches:
        cuts = batch["tokens"].offsets.to_numpy().astype(np.int64)
        given.append((_times(batch), cuts - cuts[0], batch["tokens"].flatten().to_numpy()))

    def run() -> None:
        matcher: Any = skyband.create("set-matcher", **query.backend_parameters("set-matcher"))
        for batch in given:
            matcher.update(*batch)

    return run


def _sums(query: Any, batches: list[pa.RecordBatch]) -> Run:
    given = [batch["chance"].to_numpy() for batch in batches]

    def run() -> None:
        window: Any = skyband.create("window", **query.backend_parameters("window"))
        for chances in given:
            window.append(chances)

    return run


def _joins(query: Any, batches: list[pa.RecordBatch]) -> Run:
    given = [_sides(batch) for batch in batches]

    def run() -> None:
        held = [_Side(query) for _ in range(2)]
        for parts, seen in given:
            bounds = [side.append(part) for side, part in zip(held, parts, strict=True)]
            for number, part in enumerate(parts):
                starts, ends = bounds[1 - number]
                held[1 - number].match(part, starts[seen[number]], ends[seen[number]])
            for side in held:
                side.evict()

    return run


def _sides(batch: pa.RecordBatch) -> tuple[list[Samples], list[Any]]:
    """Each side's tuples, and how many of the other side came before each of them."""
    right = batch["side"].to_numpy(zero_copy_only=False) == "right"
    turns = [np.flatnonzero(~right), np.flatnonzero(right)]
    parts = []
    for turn in turns:
        values, chances = (batch[name].take(pa.array(turn)) for name in ("values", "chances"))
        cuts = values.offsets.to_numpy().astype(np.int64)
        parts.append(Samples(cuts - cuts[0], values.flatten().to_numpy(), chances.flatten().to_numpy()))
    return parts, [np.searchsorted(turns[1 - number], turns[number]) for number in range(2)]


class _Side:
    """The window and the matcher of one side."""

    def __init__(self, query: Any) -> None:
        self._window: Any = skyband.create("window", **query.backend_parameters("window"))
        self._matcher: Any = skyband.create("matcher", **query.backend_parameters("matcher"))
        self._existence = np.empty(0)

    def append(self, part: Samples) -> tuple[Any, Any]:
        start, end = self._window.start, self._window.end
        existence = part.existence()
        starts = self._window.append(existence)
        self._matcher.append(part.offsets, part.values, part.probabilities)
        self._existence = np.concatenate([self._existence, existence])
        return np.concatenate([[start], starts]), np.arange(end, self._window.end + 1)

    def match(self, part: Samples, starts: Any, ends: Any) -> None:
        given = (part.offsets, part.values, part.probabilities)
        probes, positions, _ = self._matcher.match_all(*given, starts, ends)
        base = self._matcher.start
        self._window.presence_among(self._existence, positions - base, ends[probes] - base)

    def evict(self) -> None:
        gone = self._window.start - self._matcher.start
        self._matcher.evict(self._window.start)
        self._existence = self._existence[gone:]


BARE: dict[str, Callable[[Any, list[pa.RecordBatch]], Run]] = {
    "distinct-count": _distinct,
    "heavy-hitters": _totals,
    "near-duplicates": _near,
    "top-k": _objects,
    "top-k-workload": _workload,
    "top-k-pairs": _pairs,
    "uncertain-sum": _sums,
    "uncertain-join": _joins,
}
"""Makes a family's run of its bare backend."""

if __name__ == "__main__":
    main()
