"""Tables and logs that answers are written to and rows read from in this process, without a connector of Spark."""

from skyband_lakes.kafka.sink import kafka_sink

from skyband.tables.batch_sink import BatchSink
from skyband.tables.formats import FORMATS, open_sink, open_table, table_problem

__all__ = ["FORMATS", "BatchSink", "kafka_sink", "open_sink", "open_table", "table_problem"]
