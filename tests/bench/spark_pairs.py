"""What a Spark user would write for top-k-pairs: a self-join by tokens, exact, or MinHashLSH, approximate.

Each is of the stream `sets` of `family_streams`: the most similar pairs of a window, at every slide.
"""

from typing import Any

from family_streams import FAMILIES, OVER
from pyspark.sql import functions as sql

K = FAMILIES["top-k-pairs"].keys["k"]
WINDOW, SLIDE = OVER["window"], OVER["every"]
LEAST = 0.5
"""Pairs less similar than this are lost to MinHashLSH, which wants a threshold."""


def by_tokens(source: Any) -> Any:
    """Every two sets of a window that share a token are counted together. Columns at, best: (similarity, ids)."""
    return _best(similarities(_windowed(sharing_a_token(source)), "window"))


def sharing_a_token(source: Any) -> Any:
    """Every two sets less than a window apart, a row for each token that they share."""
    stamped = source.withWatermark("ts", "0 seconds").withColumn("token", sql.array_distinct("tokens"))
    each = stamped.select("ts", "id", sql.size("token").alias("size"), sql.explode("token").alias("token"))
    left, right = (each.select([sql.col(name).alias(side + name) for name in each.columns]) for side in ("l_", "r_"))
    near = f"l_token = r_token AND l_id < r_id AND r_ts >= l_ts AND r_ts < l_ts + INTERVAL {WINDOW}"
    return left.join(right, sql.expr(near))


def similarities(shared: Any, *keys: str) -> Any:
    """Jaccard similarity of what shares tokens, by further keys."""
    common = sql.col("common")
    jaccard = common / (sql.col("l_size") + sql.col("r_size") - common)
    pairs = shared.groupBy(*keys, "l_id", "r_id", "l_size", "r_size").agg(sql.count("*").alias("common"))
    return pairs.withColumn("similarity", jaccard)


def by_minhash(source: Any) -> Any:
    """Spark ML's approxSimilarityJoin of all sets, 5 hash tables, then as before. Batch only."""
    return _best(_windowed(by_hashes(source, LEAST)))


def by_hashes(source: Any, least: float) -> Any:
    """All pairs that MinHashLSH finds whose similarity is above `least`."""
    from pyspark.ml.feature import HashingTF, MinHashLSH

    words = sql.array_distinct(sql.col("tokens").cast("array<string>"))
    hashed = HashingTF(inputCol="words", outputCol="features", numFeatures=1 << 20, binary=True)
    vectors = hashed.transform(source.withColumn("words", words)).select("ts", "id", "features").cache()
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=5, seed=1).fit(vectors)
    found = model.approxSimilarityJoin(vectors, vectors, 1.0 - least, "distance")
    sides = [
        sql.col(f"dataset{side}.{name}").alias(f"{letter}_{name}")
        for side, letter in (("A", "l"), ("B", "r"))
        for name in ("ts", "id")
    ]
    return found.select(*sides, (1.0 - sql.col("distance")).alias("similarity")).where("l_id < r_id")


def _windowed(pairs: Any) -> Any:
    """Each pair once for every window that holds both."""
    return pairs.withColumn("window", sql.window("l_ts", WINDOW, SLIDE)).where("r_ts < window.end")


def _best(pairs: Any) -> Any:
    one = sql.struct("similarity", (-sql.col("l_id")).alias("left"), (-sql.col("r_id")).alias("right"))
    best = pairs.select("window", one.alias("one")).groupBy("window").agg(sql.expr(f"max_by(one, one, {K})").alias("b"))
    return best.select(sql.col("window.end").alias("at"), sql.col("b").alias("best"))
