"""What the operator of one shard does in one micro-batch."""

from collections.abc import Iterable

import pandas as pd
import pyarrow as pa

from skyband import frames
from skyband.engines import results
from skyband.engines.keeping import Keeping
from skyband.engines.shipment import Ends, Shipment
from skyband.engines.worker import settle


def turn(shipment: Shipment, keeping: Keeping, rows: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Add the packed rows of a shard to its operator, answer the moments they passed, and keep its state.

    Returns the rows of a shard's answers and of its metrics: they are few, and another Python to unpack them would cost
    each trigger more.
    """
    settle(shipment)
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
    both = [results.answer_rows(shipment, answers), results.metrics_row(shipment, metrics)]
    return in_pandas(pa.concat_batches(both))


def in_pandas(rows: pa.RecordBatch) -> pd.DataFrame:
    """Rows whose columns stay Arrow's: pandas' own would lose integers beside nulls, and instants far away.

    Nested ones are objects, because Spark walks through them itself.
    """
    columns = {}
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if pa.types.is_nested(column.type):
            columns[name] = pd.Series(column.to_pylist(), dtype=object)
        else:
            columns[name] = pd.Series(column, dtype=pd.ArrowDtype(column.type))
    return pd.DataFrame(columns)
