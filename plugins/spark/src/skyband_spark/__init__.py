"""Skyband on Spark: one function from a DataFrame to the DataFrame of its answers, in batch and in streaming.

from skyband import spark

counts = requests.transform(spark.apply, query, backends={"sketch": "k-skb"})
"""

from skyband.lazy_names import lazy_names

_PROGRAM = dict.fromkeys(("ROCKSDB", "SETTINGS", "apply", "bad_rows", "files", "session"), "program")
__getattr__ = lazy_names(__name__, {**_PROGRAM, "preflight": "session_check", "states": "states"})
