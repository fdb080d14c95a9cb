"""A topic that a stream follows: parts name its messages, and are read again with the same ones."""

import json

import kafka_broker
import pyarrow as pa
import pytest
from skyband.errors import EngineError, SnapshotError
from skyband_jobs.formats import TableKeys
from skyband_jobs.formats.formats import format_named

COLUMNS = pa.schema([("ts", pa.timestamp("us", "UTC")), ("client", pa.string())])


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with kafka_broker.running(tmp_path_factory.mktemp("broker")) as address:
        yield address


@pytest.fixture
def topic(broker, request):
    name = request.node.name.partition("[")[0]
    kafka_broker.make_topic(broker, name, partitions=2)
    return name


def followed(broker, topic, **options):
    keys = {"subscribe": topic, "kafka.bootstrap.servers": broker, "kafka.log_level": "0", **options}
    return format_named("kafka", None).follow(TableKeys(options=keys, schema=COLUMNS, stream=True))


def producer_of(options):
    confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs the extra kafka")
    return confluent_kafka.Producer(options)


def message(number):
    return json.dumps({"ts": f"2026-01-01T00:00:{number % 60:02}Z", "client": f"c{number}"})


def parts_to_the_end(source, most=100):
    """Every part up to the end, each with the clients in it."""
    found = []
    for _ in range(2000):
        part = source.next_part(most)
        if part is None and source.caught_up:
            return found
        if part is not None:
            found.append((part, clients(source, part)))
            source.took(part)
    raise AssertionError("the end was not found")


def clients(source, part):
    return [client for batch in source.rows(part).batches(["client"]) for client in batch.column("client").to_pylist()]


def test_parts_have_each_message_once_and_are_read_again(broker, topic):
    kafka_broker.send(broker, topic, map(message, range(250)))
    first = followed(broker, topic)
    found = parts_to_the_end(first)
    assert [client for _, some in found for client in some] == [f"c{number}" for number in range(250)]
    assert len(found) >= 3 and json.loads(first.offset) == {topic: {"0": 250}}
    again = followed(broker, topic)
    for part, some in json.loads(json.dumps(found)):
        assert clients(again, part) == some
    first.close()
    again.close()


def test_it_resumes_where_it_was_and_sees_what_has_come_since(broker, topic):
    kafka_broker.send(broker, topic, map(message, range(5)))
    first = followed(broker, topic)
    parts_to_the_end(first)
    first.close()
    kafka_broker.send(broker, topic, map(message, range(5, 8)))
    second = followed(broker, topic)
    second.resume(first.offset)
    assert [some for _, some in parts_to_the_end(second)] == [["c5", "c6", "c7"]]
    assert second.next_part(10) is None
    kafka_broker.send(broker, topic, [message(8)])
    part = next(part for part in iter(lambda: second.next_part(10), 0) if part is not None)
    assert (part, clients(second, part)) == ({"0": [8, 9]}, ["c8"])
    second.close()


def test_a_position_says_where_partitions_start_that_had_no_message_yet(broker, topic):
    kafka_broker.send(broker, topic, map(message, range(5)))
    source = followed(broker, topic, startingOffsets=json.dumps({topic: {"0": 3, "1": 0}}))
    assert json.loads(source.offset) == {topic: {"0": 3, "1": 0}}
    assert [some for _, some in parts_to_the_end(source)] == [["c3", "c4"]]
    assert json.loads(source.offset) == {topic: {"0": 5, "1": 0}}
    source.close()


def test_the_limit_of_a_micro_batch_is_kept(broker, topic):
    kafka_broker.send(broker, topic, map(message, range(25)))
    source = followed(broker, topic, maxOffsetsPerTrigger="10")
    assert max(len(some) for _, some in parts_to_the_end(source)) <= 10
    source.close()


def test_a_limit_may_be_less_than_the_partitions_or_more_than_the_library_gives(broker, topic):
    producer = producer_of({"bootstrap.servers": broker, "log_level": "0"})
    for number in range(10):
        producer.produce(topic, message(number), partition=number % 2)
    producer.flush()
    for most in (1, 3_000_000):
        source = followed(broker, topic, maxOffsetsPerTrigger=str(most))
        found = [some for _, some in parts_to_the_end(source)]
        assert sorted(client for some in found for client in some) == [f"c{number}" for number in range(10)]
        assert max(map(len, found)) <= most
        source.close()


def test_marks_of_transactions_do_not_count_as_lag(broker, topic):
    producer = producer_of({"bootstrap.servers": broker, "log_level": "0", "transactional.id": topic})
    producer.init_transactions(30)
    for turn in range(3):
        producer.begin_transaction()
        producer.produce(topic, message(turn), partition=turn % 2)
        producer.commit_transaction(30)
    source = followed(broker, topic)
    assert sorted(client for _, some in parts_to_the_end(source) for client in some) == ["c0", "c1", "c2"]
    assert source.lag == {"0": 0, "1": 0}
    source.close()


def test_a_topic_that_never_rests_ends_where_it_ended_at_first(broker, topic):
    kafka_broker.send(broker, topic, map(message, range(25)))
    source = followed(broker, topic, maxOffsetsPerTrigger="10")
    source.stop_at_end()
    found, sent = [], 25
    for _ in range(60):
        part = source.next_part(100)
        if part is None and source.caught_up:
            break
        if part is not None:
            found += clients(source, part)
            source.took(part)
        kafka_broker.send(broker, topic, map(message, range(sent, sent + 50)))
        sent += 50
    else:
        raise AssertionError("it follows the topic")
    assert found == [f"c{number}" for number in range(len(found))] and 25 <= len(found) < sent
    assert json.loads(source.offset)[topic]["0"] == len(found)
    source.close()
    after = followed(broker, topic)
    after.resume(source.offset)
    rest = [client for _, some in parts_to_the_end(after) for client in some]
    assert rest == [f"c{number}" for number in range(len(found), sent)]
    after.close()


def test_messages_that_are_gone_are_an_error_with_their_place(broker, topic):
    kafka_broker.send(broker, topic, map(message, range(5)))
    source = followed(broker, topic)
    with pytest.raises(EngineError, match=rf"partition 0 of '{topic}' cannot be read at offset 5 .*messages are gone"):
        clients(source, {"0": [3, 9]})


@pytest.mark.parametrize("offset", ["no json", "[]", '{"other": {"0": 1}}', '{"clicks": 7}', '{"clicks": {"0": "x"}}'])
def test_a_position_of_something_else_is_refused(offset):
    source = followed("127.0.0.1:9", "clicks")
    with pytest.raises(SnapshotError, match="it belongs to another source"):
        source.resume(offset)


def test_a_stream_that_resumes_is_not_at_the_end_before_it_has_looked(broker, topic):
    kafka_broker.send(broker, topic, map(message, range(5)))
    source = followed(broker, topic)
    source.resume(json.dumps({topic: {"0": 3, "1": 0}}))
    assert [some for _, some in parts_to_the_end(source)] == [["c3", "c4"]]
    source.close()
