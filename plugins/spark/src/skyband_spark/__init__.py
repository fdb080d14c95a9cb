"""Skyband on Spark: one function from a DataFrame to the DataFrame of its answers, in batch and in streaming.

from skyband import spark

counts = requests.transform(spark.apply, query, backends={"sketch": "k-skb"})
"""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(
    __name__,
    {**dict.fromkeys(("ROCKSDB", "SETTINGS", "apply", "bad_rows", "files", "session"), "program"), "states": "states"},
)
