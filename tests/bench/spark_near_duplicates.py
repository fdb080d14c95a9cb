"""What a Spark user would write for near-duplicates: a self-join by tokens, exact, or MinHashLSH, approximate.

Each is of the stream `sets` of `family_streams`: every earlier set of the window that a set is like.
"""

from typing import Any

import spark_pairs
from family_streams import FAMILIES
from pyspark.sql import functions as sql

THRESHOLD = FAMILIES["near-duplicates"].keys["threshold"]
WINDOW = FAMILIES["near-duplicates"].keys["window"]


def by_tokens(source: Any) -> Any:
    """Every two sets within the window that share a token are counted together."""
    pairs = spark_pairs.similarities(spark_pairs.sharing_a_token(source), "r_ts")
    return pairs.where(sql.col("similarity") >= THRESHOLD)


def by_minhash(source: Any) -> Any:
    """Spark ML's approxSimilarityJoin of all sets, 5 hash tables. Batch only."""
    pairs = spark_pairs.by_hashes(source, THRESHOLD)
    return pairs.where(f"r_ts >= l_ts AND r_ts < l_ts + INTERVAL {WINDOW}")
