"""Examples of a query: keys and rows that `skyband verify query/KIND` checks it with, and that its page shows.

Rows arrive late, with ties in time and score, gaps in time and columns of every type.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen

_SECOND = 1_000_000
_DELAY = 20
_ROWS = 120
_EPOCH = 1_750_000_005 * _SECOND


def _check_rows(example: "QueryExample", _: Any, rows: Any) -> None:
    if not isinstance(rows, pa.Table):
        raise TypeError(f"rows must be a pyarrow Table (got {type(rows).__name__})")
    missing = {example.keys.get("time")} - {*rows.column_names}
    if missing:
        raise ValueError(f"rows must have the column {example.keys.get('time')!r}, which the key `time` names")


@frozen(eq=False)
class QueryExample:
    """A query's keys without `kind` and `by`, and about a hundred rows of a source in order of arrival.

    Rows may be late by less than the key `delay`, which should be set, with ties in time, repeated values and
    windows that become empty. Columns that the query reads must hold no nulls: the checks insert them.

    backends: by role, as in a job; other roles use an exact backend, or the default.

    nullable: columns in which a null has a meaning, as the query's docstring says; in others it drops the row.

    elsewhere: keys that no example can use, because they need a second table or return no plain answers, each with
    the test that covers it.

    oracle: the answers by definition, in plain Python: a function from the rows, a list of dictionaries in order of
    arrival, to such a list of answers, in any order. Without it, the checks only find answers that contradict each
    other. Floats are equal if they differ by less than one in 10^9.
    """

    keys: Mapping[str, Any]
    rows: pa.Table = field(validator=_check_rows)
    backends: Mapping[str, Any] = field(factory=dict)
    nullable: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(factory=dict)
    oracle: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] | None = None


@frozen
class JobExample:
    """A small job for a query's page: an introduction, a file of rows, and the job that reads it.

    The module of `QueryInfo.examples` has one as JOB.
    """

    lead: str
    file: str
    rows: str
    query: str

    @property
    def files(self) -> dict[str, str]:
        """The files next to the job."""
        return {self.file: self.rows}

    @property
    def job(self) -> str:
        """The job file: the source, the query and the console."""
        return f'{self.query.strip()}\n\n[sink]\nformat = "console"\n'


def rows(seed: int = 1, count: int = _ROWS) -> pa.Table:
    """Rows that suit most queries, each later than the newest by less than the delay, with two gaps in time."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, count // 2, count))
    seconds += 300 * (seconds > count // 5) + 4_000 * (seconds > count // 3)
    arrival = np.argsort(seconds + rng.uniform(0, _DELAY, count), kind="stable")
    table = pa.table(
        {
            "ts": pa.array(_EPOCH + seconds * _SECOND, pa.timestamp("us", "UTC")),
            "number": np.arange(count),
            "name": [f"name {i}" for i in rng.integers(0, 30, count)],
            "origin": [["air", "water", "soil"][i] for i in rng.integers(0, 3, count)],
            "value": rng.integers(0, 11, count) / 10,
            "words": [[f"w{i}" for i in rng.zipf(1.5, n) % 40] for n in rng.integers(0, 7, count)],
            "samples": list(rng.normal(0, 1, (count, 3)).round(1)),
            "chances": [[0.3, 0.3, 0.3]] * count,
            "side": [["left", "right"][i] for i in rng.integers(0, 2, count)],
            "heights": list(rng.normal(0, 1, (count, 3)).round(1)),
        }
    )
    return table.take(pa.array(arrival))


def examples(*keys: dict[str, Any], **options: Any) -> tuple[QueryExample, ...]:
    """An example for each set of keys, with `time` and `delay`, on its own rows; options as for `QueryExample`."""
    common = {"time": "ts", "delay": f"{_DELAY} seconds"}
    return tuple(QueryExample({**common, **some}, rows(seed), **options) for seed, some in enumerate(keys, 1))
