"""Writes to a topic, without a broker: the current keys, and that failed messages are not sent later."""

import random
from types import SimpleNamespace

import pytest
from skyband.errors import ConfigError, EngineError
from skyband_lakes.kafka import delivery, sink_topic
from skyband_lakes.kafka.sink_topic import SinkTopic

pytest.importorskip("confluent_kafka")


def test_current_keys_are_those_whose_last_message_has_a_value(monkeypatch):
    """Also for messages of other programs: keys may be empty, and messages without a key are not rows."""
    chance = random.Random(4)
    for _ in range(50):
        sent = [(chance.choice([None, b"", b"a", b"b"]), chance.choice([None, b"", b"{}"])) for _ in range(12)]
        turns = [
            [SimpleNamespace(key=lambda k=k: k, value=lambda v=v: v) for k, v in sent[at : at + 5]]
            for at in range(0, len(sent), 5)
        ]
        monkeypatch.setattr(sink_topic.SinkTopic, "turns", lambda _, turns=turns: iter(turns))
        last = {key: value for key, value in sent if key is not None}
        assert SinkTopic("board", {}).keys() == {key for key, value in last.items() if value is not None}


class Producer:
    """A producer with a queue, of which the broker accepts some messages on a flush."""

    made: list

    def __init__(self, _, logger=None):
        self.queue, self.sent, self.takes = [], [], 0
        self.made.append(self)

    def produce(self, topic, value, key, headers, on_delivery):
        self.queue.append((key, value))

    def poll(self, _):
        return 0

    def flush(self, _):
        self.sent, self.queue = self.sent + self.queue[: self.takes], self.queue[self.takes :]
        return len(self.queue)

    def purge(self):
        self.queue = []


@pytest.mark.parametrize("takes", [0, 1, 2])
def test_undelivered_messages_are_not_sent_after_later_ones(takes, monkeypatch):
    """The library keeps sending in the background: an older row could arrive after a newer one."""
    made = []
    monkeypatch.setattr(Producer, "made", made, raising=False)
    monkeypatch.setattr(delivery.KAFKA.imported(), "Producer", Producer)
    one = delivery.Delivery("board", {}, seconds=0.01)
    first = one._connected()
    first.takes = takes
    with pytest.raises(EngineError, match=f"{3 - takes} of 3 answers were not delivered"):
        one.send([("a", "1", {}), ("b", "1", {}), ("c", None, {})])
    assert first.queue == [] and len(first.sent) == takes, "forgotten"
    second = one._connected()
    second.takes = 9
    one.send([("a", "2", {})])
    assert made == [first, second] and second.sent == [("a", "2")]


@pytest.mark.parametrize("stops", [ValueError("not a row"), KeyboardInterrupt()], ids=repr)
def test_messages_before_an_error_are_not_sent_after_all(stops, monkeypatch):
    made = []
    monkeypatch.setattr(Producer, "made", made, raising=False)
    monkeypatch.setattr(delivery.KAFKA.imported(), "Producer", Producer)

    def messages():
        yield "a", "1", {}
        yield "b", "1", {}
        raise stops

    one = delivery.Delivery("board", {}, seconds=0.01)
    with pytest.raises(type(stops)):
        one.send(messages())
    later = one._connected()
    later.takes = 9
    one.send([("a", "2", {})])
    assert [producer.queue + producer.sent for producer in made] == [[], [("a", "2")]]


def test_the_error_of_an_answer_too_large_for_a_message_says_whose_it_is_and_what_to_raise():
    """librdkafka refuses it before it connects."""
    topic = delivery.Delivery("board", {"bootstrap.servers": "127.0.0.1:9", "log_level": "0"}, seconds=0.01)
    with pytest.raises(ConfigError) as told:
        topic.send([('{"page":"a"}', "x" * 2_000_000, {})])
    message = str(told.value)
    assert 'an answer of 2,000,012 characters is too large for a message (its key begins \'{"page":"a"}\')' in message
    assert "raise message.max.bytes in sink.options and max.message.bytes of the topic" in message
