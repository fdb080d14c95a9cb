"""near-vectors on Spark, batch and streaming, beside Spark's own nearest-by join, which compares all rows with all.

    python tests/bench/spark_near_vectors.py [--rows 10000] [--asked 500] [--backend exact]

Vectors as of texts, 384 entries, a tenth near copies. Skyband finds for each row the nearest earlier one at cosine 0.9
and above; a stream comes in four micro-batches. The join finds the nearest of all rows, earlier or later, for the first
`--asked` of them: its time is proportional to these, and is told for all. It has no windows and does not stream.
Seconds include what Spark takes to plan and to start its tasks; a first run of each warms up.
"""

import argparse
import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import on_spark
import pyarrow as pa
from pyspark.sql import functions as sql
from skyband import spark
from skyband.text_tables import table

sys.path.append(str(Path(__file__).parent / "one_process"))
vectors_of = importlib.import_module("near_vectors").vectors_of


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--asked", type=int, default=500)
    parser.add_argument("--backend", nargs="+", default=["exact", "projections"])
    options = parser.parse_args()
    vectors = vectors_of("text", options.rows)
    times = pa.array(np.arange(options.rows) * 1_000_000, pa.timestamp("us", "UTC"))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]).cast(pa.list_(pa.float32()))
    rows = pa.table({"ts": times, "id": np.arange(options.rows), "vector": lists})
    query = {"kind": "near-vectors", "time": "ts", "id": "id", "vector": "vector", "dimensions": vectors.shape[1]}
    query |= {"threshold": 0.9, "window": f"{options.rows} seconds", "matches": 1}
    session, lines = on_spark.session(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "rows"
        on_spark.write_files(rows, folder, 4)

        def ours(backend: str) -> on_spark.Way:
            return lambda source: spark.apply(source, query, {"vector-matcher": backend}, shards=1)

        def joined(source: Any) -> Any:
            left = source.where(sql.col("id") < options.asked).select("id", "vector")
            right = source.select(sql.col("id").alias("other"), sql.col("vector").alias("vector_of_other"))
            near = sql.vector_cosine_similarity("vector", "vector_of_other")
            near = sql.when(sql.col("id") != sql.col("other"), near).otherwise(-1.0)
            return left.nearestByJoin(right, near, 1, "exact", "similarity")

        for backend in options.backend:
            way = ours(backend)
            on_spark.batch(session, way, folder)
            lines += [
                [backend, "batch", on_spark.batch(session, way, folder), 1],
                [backend, "stream", on_spark.stream(session, way, folder, 1), 1],
            ]
        took = on_spark.batch(session, joined, folder)
        lines.append(["nearest-by join", f"batch, {options.asked:,} rows asked", took, options.rows / options.asked])
    least = min(seconds for _, _, seconds, _ in lines)
    shown = [
        [way, how, f"{took:.2f}", f"{took * times:.1f}", f"{took * times / least:.0f}"]
        for way, how, took, times in lines
    ]
    table(["way", "run", "seconds", f"for {options.rows:,} rows", "of the least"], shown)


if __name__ == "__main__":
    main()
