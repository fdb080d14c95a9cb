"""Rows a second of each family's default on Spark, batch and streaming, beside what a Spark user would write by hand.

    python tests/bench/spark_families.py [FAMILY…] [--cores 2] [--rounds 1] [--share 1]

One table. Every way is a whole run from Parquet files to the last answer; a stream comes in four micro-batches (a
rival's in as many as its share of the files gives). A first run of each warms up the JVM and the compiled kernels.
Rivals that are much slower get the first rows of the stream only, `rows` says how many: their windows are then not yet
full, so they look faster than they are. What each rival is: `spark_distinct.py`, `spark_totals.py`, `spark_top_k.py`,
`spark_workload.py`, `spark_near_duplicates.py`, `spark_pairs.py`, `spark_uncertain.py`; those of the last two do less
than is asked, or something near it.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import on_spark
import spark_distinct
import spark_near_duplicates
import spark_pairs
import spark_top_k
import spark_totals
import spark_uncertain
import spark_workload
from attrs import evolve, field, frozen
from family_streams import FAMILIES, SECONDS, workload
from skyband import spark
from skyband.text_tables import table

FILES = 40
PLAN = spark_top_k.Plan(0, FILES, SECONDS, 100, 10, 1)


@frozen
class Way:
    """A way: how many of the files it is given, whether it also runs on streams, whether it is Skyband's."""

    run: on_spark.Way
    files: int = FILES
    streams: bool = True
    ours: bool = False
    in_python: bool = False
    """Whether Skyband reads the files, as it does in a job, and not Spark."""


@frozen
class Compared:
    """How many rows a family is run on, and its rivals."""

    rows: int
    rivals: Mapping[str, Way] = field(factory=dict)


def compared(share: float) -> dict[str, Compared]:
    """By family. share: of the rows."""
    queries = workload(100)
    joined = int(200_000 * share)
    return {
        "distinct-count": Compared(
            int(2_000_000 * share),
            {
                "panes of HLL": Way(spark_distinct.panes),
                "sliding approx_count_distinct": Way(spark_distinct.sliding),
            },
        ),
        "heavy-hitters": Compared(
            int(1_000_000 * share),
            {
                "panes of approx_top_k": Way(spark_totals.panes),
                "sliding approx_top_k": Way(spark_totals.sliding, files=4),
                "sliding count, max_by": Way(spark_totals.counted, files=4),
            },
        ),
        "heavy-hitters by group": Compared(
            int(1_000_000 * share),
            {"sliding count, row_number": Way(spark_totals.ranked_by_customer, streams=False)},
        ),
        "near-duplicates": Compared(
            int(200_000 * share),
            {
                "self-join by tokens": Way(spark_near_duplicates.by_tokens, files=1),
                "MinHashLSH": Way(spark_near_duplicates.by_minhash, files=2, streams=False),
            },
        ),
        "top-k": Compared(
            int(1_000_000 * share),
            {
                "panes, max_by": Way(partial(spark_top_k.panes, plan=PLAN)),
                "sliding, max_by": Way(partial(spark_top_k.sliding, plan=PLAN)),
            },
        ),
        "top-k-workload": Compared(
            int(1_000_000 * share), {"sliding, max_by": Way(partial(spark_workload.sliding, queries=queries))}
        ),
        "top-k-pairs": Compared(
            int(200_000 * share),
            {
                "self-join by tokens": Way(spark_pairs.by_tokens, files=1),
                "MinHashLSH": Way(spark_pairs.by_minhash, files=2, streams=False),
            },
        ),
        "uncertain-sum": Compared(int(1_000_000 * share), {"last N rows": Way(spark_uncertain.last_rows, files=4)}),
        "uncertain-join": Compared(
            joined, {"join by bands": Way(spark_uncertain.banded(joined / SECONDS / 2), files=4)}
        ),
    }


def main() -> None:
    """Run the families asked for, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", default=[*FAMILIES], help=", ".join(FAMILIES))
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the rows")
    options = parser.parse_args()
    session = on_spark.session(options.cores)
    rows = [line for name in options.families for line in _family(session, name, options)]
    table(["family", "mode", "way", "rows", "s", "rows/s", "skyband is"], rows)


def _family(session: Any, name: str, options: argparse.Namespace) -> list[list[Any]]:
    plan, family, home = compared(options.share)[name], FAMILIES[name], Path(tempfile.mkdtemp())
    ours = Way(lambda source: spark.apply(source, family.query), ours=True, in_python=True)
    ways = {"skyband": ours, "skyband, Spark's reader": evolve(ours, in_python=False), **plan.rivals}
    data = family.make(plan.rows)
    for files in {way.files for way in ways.values()} | {1}:
        on_spark.write_files(data.slice(0, plan.rows * files // FILES), home / str(files), files)
    lines: list[list[Any]] = []
    for mode in ("batch", "stream"):
        rates: dict[str, float] = {}
        for label, way in ways.items():
            if mode == "stream" and not way.streams:
                continue
            took = _seconds(session, way, home, mode, options.rounds, options.cores)
            rows = plan.rows * way.files // FILES
            rates[label] = rows / took
            faster = "" if label == "skyband" else f"{rates['skyband'] / rates[label]:.1f}x"
            lines.append([name, mode, label, f"{rows:,}", f"{took:.2f}", f"{rates[label]:,.0f}", faster])
            sys.stderr.write("  ".join(map(str, lines[-1])) + "\n")
    shutil.rmtree(home)
    return lines


def _seconds(session: Any, way: Way, home: Path, mode: str, rounds: int, cores: int) -> float:
    """The median of some runs, after a first one: on one file, and of ours on all, as Java compiles while it runs."""

    # Ours has one shard, and is told as `spark.session` is for it; what is written by hand takes all cores.
    session.conf.set("spark.sql.shuffle.partitions", 1 if way.ours else cores)

    def run(files: int) -> float:
        folder = home / str(files)
        if mode == "batch":
            return on_spark.batch(session, way.run, folder, in_python=way.in_python)
        return on_spark.stream(session, way.run, folder, max(1, files // 4), in_python=way.in_python)

    run(way.files if way.ours else 1)
    return statistics.median(run(way.files) for _ in range(rounds))


if __name__ == "__main__":
    main()
