"""What a Spark user would write for uncertain-sum and uncertain-join, whose windows Spark does not have.

Both take the last N tuples, or those of the last seconds, for the window of N that exist: their answers are near ours
and easier to get, for nobody asks how probable it is that a tuple is still in the window.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from family_streams import FAMILIES
from pyspark.sql import Window
from pyspark.sql import functions as sql
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

SIZE = FAMILIES["uncertain-sum"].keys["size"]
JOIN = FAMILIES["uncertain-join"].keys


def last_rows(source: Any) -> Any:
    """The sum of the last N values, certain or not: SQL's window in batch, which Spark refuses on a stream."""
    if not source.isStreaming:
        window = Window.orderBy("ts").rowsBetween(1 - SIZE, 0)
        return source.select("ts", sql.sum("value").over(window).alias("sum"))

    def running(key: Any, parts: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        held = np.frombuffer(state.get[0] if state.exists else b"", np.float64)
        rows = pd.concat(list(parts)).sort_values("ts")
        together = np.concatenate([held, rows["value"].to_numpy()])
        sums = np.concatenate([[0.0], np.cumsum(together)])
        ends = np.arange(len(held), len(together)) + 1
        state.update((together[-SIZE:].tobytes(),))
        yield pd.DataFrame({"ts": rows["ts"], "sum": sums[ends] - sums[np.maximum(ends - SIZE, 0)]})

    given = source.select("ts", "value", sql.lit(0).alias("one")).groupBy("one")
    state, result = "tail BINARY", "ts TIMESTAMP, sum DOUBLE"
    return given.applyInPandasWithState(running, result, state, "append", GroupStateTimeout.NoTimeout)


def banded(rate: float) -> Any:
    """A join of samples in neighbouring bands of epsilon, of tuples at most N apart at this rate a side and second."""
    seconds = JOIN["size"] / rate

    def join(source: Any) -> Any:
        epsilon, beta = JOIN["epsilon"], JOIN["beta"]
        sample = sql.explode(sql.arrays_zip("values", "chances")).alias("sample")
        each = source.withWatermark("ts", "0 seconds").select("ts", "side", "id", sample)
        each = each.select("ts", "side", "id", "sample.values", "sample.chances")
        band = sql.floor(sql.col("values") / epsilon)
        left = each.where("side = 'left'").withColumn("band", band)
        right = each.where("side = 'right'").withColumn("band", sql.explode(sql.array(band - 1, band, band + 1)))
        left, right = (
            part.select([sql.col(name).alias(letter + name) for name in part.columns])
            for part, letter in ((left, "l_"), (right, "r_"))
        )
        lately = f"r_ts BETWEEN l_ts - INTERVAL {seconds} SECONDS AND l_ts + INTERVAL {seconds} SECONDS"
        near = f"l_band = r_band AND abs(l_values - r_values) <= {epsilon} AND {lately}"
        chance = sql.sum(sql.col("l_chances") * sql.col("r_chances")).alias("probability")
        return (
            left.join(right, sql.expr(near)).groupBy("l_ts", "l_id", "r_id").agg(chance).where(f"probability >= {beta}")
        )

    return join
