"""Skyband on Spark: one function from a DataFrame to the DataFrame of its answers, in batch and in streaming.

from skyband import spark

counts = requests.transform(spark.apply, query, backends={"sketch": "k-skb"})
"""

from skyband.lazy_names import lazy_names

_HOMES = {
    **dict.fromkeys(("apply", "bad_rows", "files"), "program"),
    **dict.fromkeys(("ROCKSDB", "SETTINGS", "session"), "spark_session.session"),
    "preflight": "session_check",
    "states": "states",
}
__getattr__ = lazy_names(__name__, _HOMES)
