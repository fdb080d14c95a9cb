"""Runs in a worker of Spark: what it loads once for all tasks, and what it warns of."""

import gc
import threading
import warnings
from collections.abc import Mapping

import pyarrow as pa
from skyband.columns.arrow_normalization import no_rows

from skyband_spark.frames.sharded_plan import ShardedPlan

_settled = threading.Event()
_warned: dict[str | tuple[str, type[Warning], int], int] = {}
"""Warnings already given, in the form of `warnings`' registry."""


def warn_of_broken_promises(plan: ShardedPlan, dropped: Mapping[str, int]) -> None:
    """Warn once a worker, on its stderr: the text has no number, so that a stream does not repeat it."""
    for reason, text in plan.query.promises.items():
        if dropped.get(reason):
            message = f"{text}; the metric rows_{reason.replace(' ', '_')} counts them"
            warnings.warn_explicit(message, UserWarning, "skyband", 0, registry=_warned)  # without a line of source


def load_and_freeze(plan: ShardedPlan) -> None:
    """Load what every task needs, and freeze it for Python's garbage collector.

    Spark has a worker collect garbage after each task. With pandas, Arrow and numba's kernels that walks over 170,000
    objects, 0.1 s of a core, several times a micro-batch. This runs at the start of a worker's first task, before any
    operator exists: an operator refers to itself, and would never be freed once frozen.
    """
    if not _settled.is_set():  # asking the collector would count all frozen objects
        read_schema = pa.schema([plan.schema.field(name) for name in plan.query.columns])
        nothing = no_rows(read_schema)
        for _ in plan.to_shuffle_rows(iter([nothing])):  # loads the kernels, and most of numba
            continue
        gc.freeze()
        _settled.set()
