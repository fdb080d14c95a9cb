"""top-k on Spark, end to end, beside what a Spark user would write; called as `incomplete.py spark`.

    skyband    the query top-k with its default ranker
    panes      sums of each object's latest values by stream, by pane of one slide; panes united over the window
    sliding    the same over sliding windows at once: each row goes into window / slide of them

Both rivals then take max_by(…, k). Each way is a whole run from Parquet files to the last answer, in turn, in batch
and as a stream; medians and ratios are printed. In batch, scores at all moments that both have are compared first.
"""

import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import on_spark
from attrs import frozen
from family_streams import FAMILIES, STREAMS, reports
from pyspark.sql import functions as sql
from skyband import spark

K = FAMILIES["top-k"].keys["k"]


@frozen
class Plan:
    """What is run: rows over so many seconds, in files, with a window and a slide in seconds."""

    rows: int
    files: int
    seconds: int
    window: int
    slide: int
    rounds: int


def skyband_top_k(source: Any, plan: Plan) -> Any:
    """Columns at, rank, object, score."""
    lengths = {"window": f"{plan.window} seconds", "every": f"{plan.slide} seconds"}
    return spark.apply(source, FAMILIES["top-k"].query | lengths)


def sliding(source: Any, plan: Plan) -> Any:
    """Columns at, best: an array of (score, object)."""
    window = sql.window("ts", f"{plan.window} seconds", f"{plan.slide} seconds")
    latest = source.withWatermark("ts", "0 seconds").groupBy(window, "object").agg(*_latest("value", "ts"))
    return _best(latest)


def panes(source: Any, plan: Plan) -> Any:
    """As `sliding`, in two steps."""
    pane = sql.window("ts", f"{plan.slide} seconds")
    latest = source.withWatermark("ts", "0 seconds").groupBy(pane, "object").agg(*_latest("value", "ts"), *_times())
    latest = latest.withColumn("ts", sql.window_time("window")).drop("window")
    window = sql.window("ts", f"{plan.window} seconds", f"{plan.slide} seconds")
    united = [sql.max_by(f"value_{number}", f"time_{number}").alias(f"value_{number}") for number in range(STREAMS)]
    return _best(latest.groupBy(window, "object").agg(*united))


def _latest(value: str, moment: str) -> list[Any]:
    """An object's latest value of each stream, null where it has none."""
    parts = []
    for number in range(STREAMS):
        when = sql.when(sql.col("stream") == number, sql.col(moment))
        parts.append(sql.max_by(value, when).alias(f"value_{number}"))
    return parts


def _times() -> list[Any]:
    when = [sql.when(sql.col("stream") == number, sql.col("ts")) for number in range(STREAMS)]
    return [sql.max(moment).alias(f"time_{number}") for number, moment in enumerate(when)]


def _best(latest: Any) -> Any:
    score = sum((sql.coalesce(f"value_{number}", sql.lit(0.0)) for number in range(STREAMS)), sql.lit(0.0))
    scored = latest.select(
        "window", sql.struct(score.alias("score"), (-sql.col("object")).alias("object")).alias("one")
    )
    best = scored.groupBy("window").agg(sql.expr(f"max_by(one, one, {K})").alias("best"))
    return best.select(sql.col("window.end").alias("at"), "best")


WAYS: dict[str, Callable[[Any, Plan], Any]] = {"skyband": skyband_top_k, "panes": panes, "sliding": sliding}


def check_equal(session: Any, folder: Path, plan: Plan) -> int:
    """The moments at which all ways answer alike; raises where one does not."""
    source = session.read.parquet(str(folder))
    ours: dict[Any, list[Any]] = {}
    for row in skyband_top_k(source, plan).orderBy("at", "rank").collect():
        ours.setdefault(row["at"], []).append((row["object"], round(row["score"], 9)))
    for rival in (panes, sliding):
        theirs = {
            row["at"]: [(-one["object"], round(one["score"], 9)) for one in row["best"]]
            for row in rival(source, plan).collect()
        }
        missing = ours.keys() - theirs.keys()
        wrong = [at for at in ours.keys() - missing if ours[at] != theirs[at]]
        if missing or wrong:
            raise AssertionError(f"{rival.__name__}: {len(missing)} moments missing, {len(wrong)} different")
    return len(ours)


def compare(plan: Plan) -> None:
    """Print seconds, rows a second and ratios of every way, batch and stream."""
    session = on_spark.session()
    home = Path(tempfile.mkdtemp())
    on_spark.write_files(reports(plan.rows, plan.seconds), home / "source", plan.files)
    moments = check_equal(session, home / "source", plan)
    out = [f"{plan}: all ways answer alike at {moments} moments", "| mode | way | s | rows/s | time / skyband's |"]
    out.append("|---|---|---|---|---|")
    in_parts = partial(on_spark.stream, files_a_batch=max(1, plan.files // 4))
    for mode, run in (("batch", on_spark.batch), ("stream", in_parts)):
        taken: dict[str, list[float]] = {name: [] for name in WAYS}
        for number in range(plan.rounds + 1):
            for name, way in WAYS.items():
                took = run(session, partial(way, plan=plan), home / "source")
                if number:  # the first round warms up the JVM and the compiled kernels
                    taken[name].append(took)
        base = statistics.median(taken["skyband"])
        for name, times in taken.items():
            took = statistics.median(times)
            out.append(f"| {mode} | {name} | {took:.2f} | {plan.rows / took:,.0f} | {took / base:.2f}x |")
    shutil.rmtree(home)
    session.stop()
    sys.stdout.write("\n".join(out) + "\n")
