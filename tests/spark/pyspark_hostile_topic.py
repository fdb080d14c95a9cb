"""A topic of Kafka as a source of Spark, read in Python: its connector is a package of Java's that is not at hand here.

Spark finds the module by the beginning of its name where it lies on the path.
"""

from collections.abc import Iterator

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow


class DefaultSource(DataSource):
    """Its options are `address`, `topic`, and `at_once`, the messages of a micro-batch."""

    @classmethod
    def name(cls) -> str:
        return "hostile_topic"

    def schema(self) -> str:
        return "value BINARY, offset BIGINT"

    def streamReader(self, schema: object) -> DataSourceStreamReader:
        return _Reader(dict(self.options))


class _Range(InputPartition):
    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The offsets of the checkpoint are those of the topic's only partition."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def prepareForTriggerAvailableNow(self) -> None:
        """The topic gets no more messages meanwhile."""

    def initialOffset(self) -> dict[str, int]:
        return {"offset": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(int(self._options["at_once"]))

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else int(self._options["at_once"])
        return {"offset": min(start["offset"] + most, int(self._options["messages"]))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [_Range(start["offset"], end["offset"])] if start["offset"] < end["offset"] else []

    def read(self, partition: InputPartition) -> Iterator[tuple[bytes, int]]:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {"bootstrap.servers": self._options["address"], "group.id": "spark", "enable.auto.commit": "false"}
        )
        try:
            consumer.assign([TopicPartition(self._options["topic"], 0, partition.begin)])
            at = partition.begin
            while at < partition.end:
                for message in consumer.consume(partition.end - at, 0.2):
                    if message.error() is None and message.offset() < partition.end:
                        at = message.offset() + 1
                        yield message.value(), message.offset()
        finally:
            consumer.close()
