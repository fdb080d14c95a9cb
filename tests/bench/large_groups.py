"""A turn of large groups: microseconds a group through the whole operator, and of its backends alone.

    python tests/bench/large_groups.py [--groups 800] [--entries 600] [--turns 9] [--queries top-k …] [--profile]

Each group has so many objects in its window, and each turn brings it a row and an answer. The calls that reach the
backends, where each group has one and a turn of its own, are written down once; then a fresh operator takes the same
rows, and fresh backends the same calls, turn by turn in one run: medians of CPU time. Of groups that have their turns
together, and more so of those without a backend each, an operator may take less than the backends would. With `--apart`
it has a backend for each group, however few entries that has.
"""

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pyarrow as pa
from skyband.engines import local
from skyband.groups import plain_turns
from skyband.groups.small_groups import limits
from skyband.queries import make_query
from skyband.registry import Binding
from skyband_distinct.distinct_count import execution as distinct_count

MINUTE = 60_000_000
COMMON = {"time": "ts", "by": ["group"], "every": "1 minute"}
QUERIES: dict[str, dict[str, Any]] = {
    "top-k": COMMON
    | {"kind": "top-k", "object": "item", "stream": "stream", "value": "value", "streams": ["a", "b"], "k": 3}
    | {"window": "1 day", "repeats": "latest"},
    "distinct-count": COMMON | {"kind": "distinct-count", "item": "item", "windows": ["1 day"]},
    "heavy-hitters": COMMON | {"kind": "heavy-hitters", "object": "item", "windows": ["1 day"], "k": 3},
    "quantiles": COMMON | {"kind": "quantiles", "value": "value", "windows": ["1 day"], "at": [0.5, 0.99]},
    "top-k-workload": {"kind": "top-k-workload", "time": "ts", "by": ["group"], "object": "item", "score": "value"}
    | {"queries": [{"name": "day", "window": "1 day", "slide": "1 minute", "k": 600}]},
    "near-duplicates": {"kind": "near-duplicates", "time": "ts", "by": ["group"], "id": "item", "tokens": "words"}
    | {"window": "1 day", "threshold": 0.8, "output": "rows"},
}
CALLS = {
    "top-k": ("answers",),
    "distinct-count": ("update", "estimate_with_bounds", "forget"),
    "heavy-hitters": ("answers", "update"),
    "quantiles": ("answers", "update", "advance"),
    "top-k-workload": ("update", "advance"),
    "near-duplicates": ("update",),
}
"""What each query calls of its backend in a turn."""


def batches(groups: int, entries: int, turns: int) -> list[pa.RecordBatch]:
    """The rows that make groups large, then a turn a minute with a row of each."""
    rng = np.random.default_rng(1)
    counts = [entries, *[1] * (turns + 1)]
    parts = []
    for minute, count in enumerate(counts):
        rows = groups * count
        seconds = np.sort(rng.integers(0, 60, rows)) * 1_000_000 + minute * MINUTE
        columns: dict[str, Any] = {"ts": pa.array(seconds, pa.timestamp("us", "UTC"))}
        columns["group"] = rng.permutation(np.repeat(np.arange(groups), count))
        columns["item"] = rng.integers(0, 1 << 40, rows)
        columns |= {"stream": np.where(rng.random(rows) < 0.5, "a", "b"), "value": rng.random(rows)}
        columns["words"] = pa.FixedSizeListArray.from_arrays(pa.array(rng.integers(0, 1000, 6 * rows)), 6)
        parts += pa.table(columns).to_batches()
    return parts


class Recorder:
    """The calls that reach the backends of a run, turn by turn, and fresh backends to call."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.made: list[Callable[[], Any]] = []
        self.calls: list[list[tuple[int, str, tuple[Any, ...], dict[str, Any]]]] = [[]]
        self._numbers: dict[int, int] = {}
        self._backends: list[Any] = []
        self._own: dict[type, dict[str, Any]] = {}
        self._inside = False

    def run(self, query: Any, parts: list[pa.RecordBatch]) -> None:
        """Write down the calls of a run."""
        create = Binding.create

        def noted(binding: Binding, **parameters: Any) -> Any:
            backend = create(binding, **parameters)
            self._note(backend)
            self.made.append(lambda: create(binding, **parameters))
            return backend

        try:
            Binding.create = noted  # type: ignore[method-assign]
            run = local.LocalRun.start(query, parts[0].schema)
            for part in parts:
                self.calls.append([])
                run.push(part)
        finally:
            Binding.create = create  # type: ignore[method-assign]
            for kind, methods in self._own.items():
                for name, method in methods.items():
                    setattr(kind, name, method)

    def _note(self, backend: Any) -> None:
        self._numbers[id(backend)] = len(self._backends)
        self._backends.append(backend)
        kind = type(backend)
        if kind not in self._own:
            self._own[kind] = {name: getattr(kind, name) for name in self.names}
            for name, method in self._own[kind].items():
                setattr(kind, name, self._written(name, method))

    def _written(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(backend: Any, *args: Any, **named: Any) -> Any:
            if self._inside:  # a backend calls itself
                return method(backend, *args, **named)
            self.calls[-1].append((self._numbers[id(backend)], name, args, named))
            self._inside = True
            try:
                return method(backend, *args, **named)
            finally:
                self._inside = False

        return call


def alone(recorder: Recorder, groups: int) -> list[float]:
    """Microseconds a group of each turn, of the backends alone."""
    backends, took = [make() for make in recorder.made], []
    for turn in recorder.calls:
        bound = [(getattr(backends[number], name), args, named) for number, name, args, named in turn]
        started = time.process_time()
        for method, args, named in bound:
            method(*args, **named)
        took.append((time.process_time() - started) / groups * 1e6)
    return took


def whole(query: Any, parts: list[pa.RecordBatch], groups: int, profile: cProfile.Profile | None) -> list[float]:
    """Microseconds a group of each turn, of the operator."""
    run, took = local.LocalRun.start(query, parts[0].schema), []
    for number, part in enumerate(parts):
        if profile is not None and number == 2:
            profile.enable()
        started = time.process_time()
        answers = run.push(part)
        took.append((time.process_time() - started) / groups * 1e6)
    if profile is not None:
        profile.disable()
    assert len(answers) >= 0.9 * groups  # rows of the newest moment may wait for what comes with it
    return took


@contextmanager
def a_backend_each() -> Iterator[None]:
    """No group is small."""
    before = limits.MOST_ENTRIES, distinct_count._MOST_KEYS
    limits.MOST_ENTRIES = distinct_count._MOST_KEYS = 0
    try:
        yield
    finally:
        limits.MOST_ENTRIES, distinct_count._MOST_KEYS = before


@contextmanager
def one_by_one() -> Iterator[None]:
    """Backends get their turns each by a call of its own."""
    before = plain_turns._FEW
    plain_turns._FEW = 2**63
    try:
        yield
    finally:
        plain_turns._FEW = before


def main() -> None:
    """Run the queries asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=800)
    parser.add_argument("--entries", type=int, default=600)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--queries", nargs="+", choices=[*QUERIES], default=[*QUERIES])
    parser.add_argument("--apart", action="store_true", help="a backend a group, however few entries it has")
    parser.add_argument("--profile", action="store_true", help="where the time of the operator goes")
    options = parser.parse_args()
    parts = batches(options.groups, options.entries, options.turns)
    for name in options.queries:
        query = make_query(QUERIES[name])
        recorder = Recorder(CALLS[name])
        with a_backend_each(), one_by_one():
            recorder.run(query, parts)
        profile = cProfile.Profile() if options.profile else None
        own = float(np.median(alone(recorder, options.groups)[-options.turns :]))
        with a_backend_each() if options.apart else nullcontext():
            turn = float(np.median(whole(query, parts, options.groups, profile)[-options.turns :]))
        print(f"{name:16} {turn:7.1f} us a turn, {own:7.1f} of the backend alone: {turn / own:5.2f} times")  # noqa: T201
        if profile is not None:
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
