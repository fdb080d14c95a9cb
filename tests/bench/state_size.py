"""How much state each family keeps, by the rows in its window: items retained by its default, bytes of a checkpoint.

    python tests/bench/state_size.py [FAMILY…] [--rows 1000 10000 100000]

The streams of `family_streams` at an even rate, two windows long; the state is that after the last row. What is named
by text needs its names besides: here ids are numbers.
"""

import argparse
from typing import Any

from family_streams import FAMILIES
from skyband.engines import local
from skyband.queries import make_query
from skyband.text_tables import table


def main() -> None:
    """Print a line for each family and window."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", default=[*FAMILIES], help=", ".join(FAMILIES))
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    options = parser.parse_args()
    lines = [_line(name, rows) for name in options.families for rows in options.rows]
    table(["family", "rows in the window", "retained", "state, bytes", "bytes a row"], lines)


def _line(name: str, rows: int) -> list[Any]:
    family = FAMILIES[name]
    data = family.make(2 * rows)
    query = make_query(_with_window(family.query, rows, data))
    run = local.LocalRun.start(query, data.schema)
    (batch,) = data.combine_chunks().to_batches()
    run.push(batch)
    state, retained = len(run.operator.snapshot()), run.operator.take_metrics().retained
    return [name, f"{rows:,}", f"{retained:,}", f"{state:,}", f"{state / rows:.1f}"]


def _with_window(keys: dict[str, Any], rows: int, data: Any) -> dict[str, Any]:
    """The query with a window of so many rows, half of those there are."""
    if "size" in keys:
        return keys | {"size": rows if keys["kind"] == "uncertain-sum" else rows // 2}
    span = (data["ts"][-1].as_py() - data["ts"][0].as_py()).total_seconds()
    window = {"window": f"{max(round(span / 2), 1)} seconds"}
    if "windows" in keys:
        return keys | {"windows": [*window.values()]}
    if keys["kind"] == "top-k-workload":
        return keys | {"queries": [{**query, **window} for query in keys["queries"]]}
    return keys | window


if __name__ == "__main__":
    main()
