"""What the conformance checks try Kafka with: a topic for each folder, at the broker TRIAL_BROKER; what one keeps."""

import base64
import json
import os
from datetime import datetime
from zlib import crc32

from attrs import evolve
from skyband_jobs.formats import TableKeys
from skyband_specs.formats import FormatTrial


def newest_messages(address, topic):
    """The last value of each key, of those that have one, as a compacted topic keeps them; None where there is none."""
    messages = all_messages(address, topic)
    if messages is None:
        return None
    last = {key: value for key, value, _ in messages}
    return {key: json.loads(value) for key, value in last.items() if value is not None}


def all_messages(address, topic):
    """The key, value and headers of each message, in the order of each partition; None where there is no topic."""
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
        waiting, messages = set(about.partitions), []
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in waiting])
        while waiting:
            for message in consumer.consume(1000, 0.1):
                if message.error() is None:
                    messages.append((message.key(), message.value(), dict(message.headers() or ())))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    waiting.discard(message.partition())
        return messages
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
        return [*map(_answer, rows)]


class LogTrial(TopicTrial):
    """Its topics are logs."""

    def keys(self, folder):
        keys = super().keys(folder)
        return evolve(keys, options={**keys.options, "kafka.enable.idempotence": "true"})

    def rows(self, format, keys):
        messages = all_messages(keys.options["kafka.bootstrap.servers"], keys.table)
        return [_answer(json.loads(value)) for _, value, _ in messages]


def _answer(row):
    """A row as it was before it became JSON."""
    return {
        **row,
        "at": datetime.fromisoformat(row["at"]),
        "count": _number(row["count"]),
        "state": _bytes(row["state"]),
    }


def _bytes(text):
    return None if text is None else base64.b64decode(text)


def _number(value):
    """Numbers that JSON has not stand there by their names."""
    return float(value) if isinstance(value, str) else value
