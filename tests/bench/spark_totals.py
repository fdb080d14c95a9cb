"""What a Spark user would write for heavy-hitters: sliding counts ranked, or approx_top_k, by pane or sliding.

Each is of the stream `requests` of `family_streams`: the clients with the most requests of a window, at every slide.
The counts are exact but for ties; the others are approximate.
"""

from typing import Any

from family_streams import FAMILIES
from pyspark.sql import Window
from pyspark.sql import functions as sql

K = FAMILIES["heavy-hitters"].keys["k"]
(WINDOW,), SLIDE = FAMILIES["heavy-hitters"].keys["windows"], FAMILIES["heavy-hitters"].keys["every"]
TRACKED = 10_000
"""Counters of approx_top_k, its default."""


def counted(source: Any) -> Any:
    """Every client of every sliding window, counted, then the best."""
    window = sql.window("ts", WINDOW, SLIDE)
    counts = source.withWatermark("ts", "0 seconds").groupBy(window, "client").agg(sql.count("*").alias("total"))
    one = f"max_by(struct(client, total), struct(total, -client), {K})"
    return counts.groupBy("window").agg(sql.expr(one).alias("best"))


def panes(source: Any) -> Any:
    """approx_top_k of every pane, combined over the window."""
    pane = source.withWatermark("ts", "0 seconds").groupBy(sql.window("ts", SLIDE))
    sketches = pane.agg(sql.expr(f"approx_top_k_accumulate(client, {TRACKED})").alias("sketch"))
    stamped = sketches.select(sql.window_time("window").alias("ts"), "sketch")
    united = stamped.groupBy(sql.window("ts", WINDOW, SLIDE))
    combined = united.agg(sql.expr(f"approx_top_k_combine(sketch, {TRACKED})").alias("sketch"))
    return combined.select("window", sql.expr(f"approx_top_k_estimate(sketch, {K})").alias("best"))


def sliding(source: Any) -> Any:
    """approx_top_k of every sliding window."""
    windows = source.withWatermark("ts", "0 seconds").groupBy(sql.window("ts", WINDOW, SLIDE))
    return windows.agg(sql.expr(f"approx_top_k(client, {K}, {TRACKED})").alias("best"))


def ranked_by_customer(source: Any) -> Any:
    """The pages of every customer and sliding window, counted, then numbered; Spark does that in batch only."""
    keys = FAMILIES["heavy-hitters by group"].keys
    window = sql.window("ts", keys["windows"][0], keys["every"])
    counts = source.groupBy("customer", window, "page").agg(sql.count("*").alias("total"))
    order = Window.partitionBy("customer", "window").orderBy(sql.desc("total"), "page")
    return counts.withColumn("rank", sql.row_number().over(order)).filter(sql.col("rank") <= keys["k"])
