"""The streams a role is benched on: those of skyband-specs, and a query of each window size over them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from skyband.errors import ConfigError, Problem

_ROW = 6_000_000
"""Microseconds from row to row where windows are times: ten rows are a minute."""

Made = tuple[dict[str, Any], pa.Table]


@frozen
class Scenario:
    """How a role is benched."""

    stream: str
    axis: str
    windows: tuple[int, ...]
    rows: int
    make: Callable[[int, int], Made]
    """(rows, window) -> the query's keys and the table it is asked of."""


def scenario(role: str) -> Scenario:
    """The role's own; a plugin's stands in the module `scenarios` of its conformance package, as SCENARIO.

    Raises ConfigError where skyband-specs, whose streams core's are, is not installed, or a plugin brings none.
    """
    try:
        import skyband_specs  # noqa: F401
    except ModuleNotFoundError as error:
        said = "the streams are a distribution of their own: pip install skyband-specs; or compare on a job of yours"
        raise ConfigError(Problem("", said)) from error
    return SCENARIOS[role] if role in SCENARIOS else _of_plugin(role)


def _of_plugin(role: str) -> Scenario:
    from skyband_specs.drivers import conformance_module

    made = getattr(conformance_module(role, "scenarios"), "SCENARIO", None)
    if not isinstance(made, Scenario):
        said = f"role {role}: the module `scenarios` of its conformance package must have SCENARIO, a Scenario"
        raise ConfigError(Problem("", f"{said} (got {made!r})"))
    return made


def _sketch(rows: int, window: int) -> Made:
    from skyband_specs.sketch.streams import paper_random

    stream = paper_random(1, rows, 0.5)
    query = {"kind": "distinct-count", "time": "at", "item": "key", "windows": [_minutes(window)]}
    step = max(window // 40, rows // 400) // 10 * 10 or 10
    return {**query, "every": _minutes(step)}, pa.table({"at": _times(stream.times), "key": stream.keys})


def _object_ranker(rows: int, window: int) -> Made:
    from skyband_specs.object_ranker.streams import paper

    stream = paper(1, rows, 3)
    query = {"kind": "top-k", "time": "at", "object": "object", "stream": "stream", "value": "value", "k": 10}
    query |= {
        "repeats": "never",
        "streams": [0, 1, 2],
        "window": f"{window} rows",
        "every": f"{max(window // 20, rows // 400, 1)} rows",
    }
    columns = {"at": stream.times, "object": stream.objects, "stream": stream.streams, "value": stream.values}
    return query, pa.table(columns)


def _pair_ranker(rows: int, window: int) -> Made:
    from skyband_specs.pair_ranker.streams import zipf

    stream = zipf(1, rows)
    offsets, tokens = stream.flat(0, rows)
    sets = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(tokens))
    query = {"kind": "top-k-pairs", "time": "at", "id": "at", "tokens": "tokens", "k": 10}
    query |= {"window": f"{window} rows", "every": f"{max(rows // 400, 1)} rows"}
    return query, pa.table({"at": stream.times, "tokens": sets})


def _workload_ranker(rows: int, window: int) -> Made:
    from skyband_specs.workload_ranker.streams import steady

    stream = steady(True, rows)
    shapes = [(1, 10, 100), (1, 20, 10), (2, 20, 50), (4, 20, 10), (4, 40, 100), (10, 40, 5)]
    queries = [
        {"name": f"top {k} of {window // part}", "k": k, "window": f"{window // part} rows",
         "slide": f"{max(window // step, 1)} rows"}
        for part, step, k in shapes
    ]  # fmt: skip
    query = {"kind": "top-k-workload", "time": "at", "object": "object", "score": "score", "queries": queries}
    return query, pa.table({"at": stream.times, "object": stream.objects, "score": stream.scores})


def _window(rows: int, size: int) -> Made:
    from skyband_specs.window.streams import existences

    values = 10 + np.random.default_rng(1).normal(0.0, 1.0, rows)
    query = {"kind": "uncertain-sum", "time": "at", "values": "value", "probabilities": "chance", "size": size}
    return query, pa.table({"at": np.arange(rows), "value": values, "chance": existences(1, rows, 0.1)})


def _matcher(rows: int, size: int) -> Made:
    from skyband_specs.matcher.streams import perturbed

    walk = np.cumsum(np.random.default_rng(2).normal(0.0, 1.0, rows))
    offsets, values, chances = perturbed(walk, 1, samples=5).flat(0, rows)
    lists = [pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(part)) for part in (values, chances)]
    columns = {"time": "at", "side": "side", "id": "at", "values": "values", "probabilities": "chances"}
    query = {"kind": "uncertain-join", **columns, "size": size, "epsilon": 0.2, "beta": 0.3}
    return query, pa.table(
        {"at": np.arange(rows), "side": np.arange(rows) % 2, "values": lists[0], "chances": lists[1]}
    )


def _minutes(rows: int) -> str:
    return f"{max(rows * _ROW // 60_000_000, 1)} minutes"


def _times(rows: Any) -> pa.Array:
    return pa.array(rows * _ROW, pa.timestamp("us"))


_WINDOWS = "rows of the window"
_SIZE = "tuples of the window"

SCENARIOS: Mapping[str, Scenario] = {
    "sketch": Scenario(
        "Zhang et al.'s Random: half the keys repeated", _WINDOWS, (1_000, 10_000, 100_000), 200_000, _sketch
    ),
    "window": Scenario(
        "Dallachiesa et al.'s existential uncertainty, deviation 0.1", _SIZE, (50, 200, 800), 10_000, _window
    ),
    "matcher": Scenario(
        "a random walk, each step five uncertain samples, epsilon 0.2", _SIZE, (50, 200, 800), 10_000, _matcher
    ),
    "object-ranker": Scenario(
        "Haghani et al.'s generator: three streams, top 10", _WINDOWS, (500, 2_000, 8_000), 50_000, _object_ranker
    ),
    "pair-ranker": Scenario(
        "sets of 12 tokens by Zipf's law, a tenth near-duplicates, top 10", _WINDOWS, (250, 1_000, 4_000), 20_000,
        _pair_ranker,
    ),
    "workload-ranker": Scenario(
        "scores at random, six queries of windows down to a tenth", _WINDOWS, (1_000, 10_000, 50_000), 200_000,
        _workload_ranker,
    ),
}  # fmt: skip
"""By role. A window is in rows, or the existing tuples an uncertain one holds."""
