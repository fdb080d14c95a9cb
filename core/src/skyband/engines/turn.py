"""What the operator of one shard does in one micro-batch."""

from collections.abc import Iterable

import pandas as pd
import pyarrow as pa

from skyband import frames
from skyband.engines import results
from skyband.engines.keeping import Keeping
from skyband.engines.shipment import Ends, Shipment

TURN = pa.schema([pa.field("shard", pa.int32()), pa.field("answers", pa.binary()), pa.field("metrics", pa.binary())])
"""A turn as one row: the answers and the metrics, each as Arrow bytes."""


def turn(shipment: Shipment, keeping: Keeping, shard: int, rows: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Add the packed rows of a shard to its operator, answer the moments they passed, and keep its state."""
    operator = keeping.take(shipment)
    end, given = Ends(shipment.query), []
    for packed in rows:
        for row in packed.itertuples(index=False):
            if row.frame is not None:
                given.append(row.frame)
                operator.add(frames.from_bytes(row.frame))
            end.add(row.reach, row.dropped)
    answers = operator.turn(end.reach, shipment.ticking)
    size = keeping.keep(operator, given)
    operator.leave_out(end.left_out)
    metrics = results.with_metrics(shipment, operator.take_metrics(), size, operator.watermark)
    done = {
        "shard": [shard],
        "answers": [results.pack_answers(answers)],
        "metrics": [frames.to_bytes(results.metrics_row(shipment, metrics))],
    }
    return pd.DataFrame(done)
