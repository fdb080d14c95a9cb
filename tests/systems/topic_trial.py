"""What the conformance checks try Kafka with: a topic for each folder, at the broker TRIAL_BROKER; what one keeps."""

import base64
import json
import os
from datetime import datetime
from zlib import crc32

from skyband_jobs.formats import TableKeys
from skyband_specs.formats import FormatTrial


def newest_messages(address, topic):
    """The last value of each key, of those that have one, as a compacted topic keeps them; None where there is none."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "reader",
            "enable.auto.commit": "false",
            "enable.partition.eof": "true",
            "fetch.wait.max.ms": "20",
            "log_level": "0",
        }
    )
    try:
        about = consumer.list_topics(topic, timeout=30).topics[topic]
        if about.error is not None:
            return None
        waiting, last = set(about.partitions), {}
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in waiting])
        while waiting:
            for message in consumer.consume(1000, 0.1):
                if message.error() is None:
                    last[message.key()] = message.value()
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    waiting.discard(message.partition())
        return {key: json.loads(value) for key, value in last.items() if value is not None}
    finally:
        consumer.close()


QUICK = {"kafka.enable.idempotence": "false", "kafka.max.in.flight": "1", "kafka.log_level": "0"}
"""In order too, and a producer does not wait for a second before its first message."""


class TopicTrial(FormatTrial):
    """Its topics are read by the library alone."""

    def keys(self, folder):
        options = {"kafka.bootstrap.servers": os.environ["TRIAL_BROKER"], **QUICK}
        return TableKeys(table=f"board-{crc32(bytes(folder))}", options=options, writes=True)

    def rows(self, format, keys):
        rows = newest_messages(keys.options["kafka.bootstrap.servers"], keys.table).values()
        return [
            {
                **row,
                "at": datetime.fromisoformat(row["at"]),
                "count": _number(row["count"]),
                "state": _bytes(row["state"]),
            }
            for row in rows
        ]


def _bytes(text):
    return None if text is None else base64.b64decode(text)


def _number(value):
    """Numbers that JSON has not stand there by their names."""
    return float(value) if isinstance(value, str) else value
