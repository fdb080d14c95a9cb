"""In a worker of Spark: packing, and what is done once for all its tasks."""

import gc
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa

from skyband.engines.sealing import sealed
from skyband.engines.shipment import Shipment

Mapped: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def packing(shipment: Shipment) -> Mapped:
    """`shipment.pack` for Spark to run where the rows are."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle(shipment)
        return shipment.pack(batches)

    return sealed(pack, shipment)


def settle(shipment: Shipment) -> None:
    """Load what every task needs and freeze it: Python's garbage collector looks through it no more.

    Spark has a worker collect garbage after each task. With pandas, Arrow and numba's kernels that is a walk through
    170,000 objects, .1 s of a core, several times a micro-batch. Done at the start of a worker's first task, when no
    operator is alive yet: an operator refers to itself, and frozen it would never be freed.
    """
    if not gc.get_freeze_count():
        read = pa.schema([shipment.schema.field(name) for name in shipment.query.columns])
        nothing = pa.RecordBatch.from_pylist([], schema=read)
        for _ in shipment.pack(iter([nothing])):  # loads the kernels, and with the first of them most of numba
            continue
        gc.freeze()
