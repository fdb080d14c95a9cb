"""The compiled kernels of early aggregation, which work on the arrays of `skyband_incomplete.eaa_arrays`."""

from skyband_incomplete.kernels.compaction import enroll, forget, gather_slots
from skyband_incomplete.kernels.heap import drain
from skyband_incomplete.kernels.insertion import insert, touch_all
from skyband_incomplete.kernels.intervals import vectors
from skyband_incomplete.kernels.sweep import compact, expire, rank, replay, sweep

__all__ = [
    "compact",
    "drain",
    "enroll",
    "expire",
    "forget",
    "gather_slots",
    "insert",
    "rank",
    "replay",
    "sweep",
    "touch_all",
    "vectors",
]
