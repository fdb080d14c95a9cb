"""What a type checker sees of queries as classes; `tox -e types` holds that each fault here is one to it."""

from skyband_distinct import DistinctCount
from skyband_incomplete import TopK
from skyband_totals import HeavyHitters

COUNT = DistinctCount("ts", item="client", windows=["1 hour"], every="10 minutes", by=["page"], bad_rows="count")
BEST = TopK("ts", object="id", stream="kind", value="score", streams=["a"], k=3, window="1 hour", every="1 minute")
BUSIEST = HeavyHitters("ts", object=["host", "path"], k=3, windows=["1 hour"], every="10 minutes", share=None)

MISSING = DistinctCount("ts", item="client", windows=["1 hour"])  # type: ignore[call-arg]
MISSPELT = DistinctCount("ts", item="client", windows=["1 hour"], evry="1 minute")  # type: ignore[call-arg]
NO_NUMBER = HeavyHitters("ts", object="client", k="3", windows=["1 hour"], every="1 hour")  # type: ignore[arg-type]
