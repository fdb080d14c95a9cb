"""A topic as a log: each micro-batch is in it once, read back from a local broker, also after kills."""

import json
import os
import signal

import kafka_broker
import pyarrow as pa
import pytest
from board import QUERY, BoardJob, in_order, visits
from skyband.engines import local
from skyband.errors import ConfigError, EngineError
from skyband_jobs.formats import open_sink
from skyband_lakes.kafka import appended, log_topic
from skyband_specs.formats import CHECKS, FormatSubject, verify_format_subject
from topic_trial import LogTrial, all_messages

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

TRIAL = f"{LogTrial.__module__}:{LogTrial.__qualname__}"
SUBJECT = FormatSubject("format/kafka", "skyband_lakes.kafka.format:KafkaFormat", TRIAL, ("streams",))


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with kafka_broker.running(tmp_path_factory.mktemp("broker")) as address:
        kafka_broker.make_topic(address, "ready")
        yield address


CHECKED = [
    pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one.group == "kills" else [])
    for one in CHECKS
    if {"streams"} <= {*one.needs} <= {"shows", "adds", "streams"}
    and one.name != "a_micro_batch_that_is_given_again_is_there_once"  # below: one without answers has no message
]


@pytest.mark.parametrize("one", CHECKED)
def test_conformance(one, broker, monkeypatch):
    monkeypatch.setenv("TRIAL_BROKER", broker)
    report = verify_format_subject(SUBJECT, checks=[one])
    assert report.ok and report.counts()["passed"], report.text()


def sink(address, topic, **options):
    return open_sink("kafka", topic, {"kafka.bootstrap.servers": address, "kafka.log_level": "0", **options})


def answers(number, rows=6):
    at = pa.array([60_000_000 * (number + 1)] * rows, pa.timestamp("us", "UTC"))
    columns = {
        "place": [f"p{row % 5}" for row in range(rows)],
        "at": at,
        "count": [number + row for row in range(rows)],
    }
    return pa.table(columns)


def whole(*batches):
    return [(batch, row, batch + row) for batch in batches for row in range(6)]


def sent(address, topic):
    """The micro-batch, the row and the count of each message."""
    return [
        (int(headers["skyband-batch"]), int(headers["skyband-row"]), json.loads(value)["count"])
        for _, value, headers in all_messages(address, topic)
    ]


def give(address, topic, batch, stream="one", **options):
    """Write a micro-batch as a process does that was just started."""
    new = sink(address, topic, **options)
    latest = new.latest(stream)
    if latest is None or batch > latest:
        new.write(answers(batch), stream, batch)
    return latest


def test_a_micro_batch_is_sent_once_with_its_number(broker):
    assert [give(broker, "once", batch) for batch in (0, 0, 1, 1, 2, 2)] == [None, 0, 0, 1, 1, 2]
    assert sent(broker, "once") == whole(0, 1, 2)
    key, value, headers = all_messages(broker, "once")[0]
    assert json.loads(key) == {"place": "p0"}
    assert json.loads(value) == {"place": "p0", "at": "1970-01-01T00:01:00+00:00", "count": 0}
    about = (b"one", b"0", b"0", b"6")
    assert headers == dict(zip(("skyband-stream", "skyband-batch", "skyband-row", "skyband-rows"), about, strict=True))


def test_one_without_answers_has_a_number_only_as_long_as_the_sink(broker):
    first = sink(broker, "empty")
    for batch, rows in ((0, 6), (1, 0)):
        first.write(answers(batch, rows), "one", batch)
    assert first.latest("one") == 1 and sink(broker, "empty").latest("one") == 0
    assert give(broker, "empty", 2) == 0 and sent(broker, "empty") == whole(0, 2)


def send_some(address, topic, batch, rows, stream="one"):
    """Leave only these rows of a micro-batch in a topic, as a kill does where its broker shows open transactions."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "log_level": "0", "partitioner": "murmur2_random"})
    for key, value, headers in appended._missing(answers(batch), stream, batch, log_topic.Sent()):
        if int(headers["skyband-row"]) in rows:
            producer.produce(topic, key=key, value=value, headers=headers)
    assert producer.flush(30) == 0


@pytest.mark.parametrize(("partitions", "rows"), [(1, (0, 1, 2, 3, 4)), (3, (0, 1, 5)), (3, (5,))])
def test_of_one_that_is_there_in_part_the_rest_is_sent(broker, partitions, rows):
    topic = f"part-{partitions}-{rows[0]}"
    kafka_broker.make_topic(broker, topic, partitions)
    assert give(broker, topic, 4) is None
    send_some(broker, topic, 5, rows)
    assert sink(broker, topic).latest("one") == 4
    for batch in (5, 6):
        give(broker, topic, batch)
    assert sorted(sent(broker, topic)) == whole(4, 5, 6)


def test_the_first_one_may_be_there_in_part(broker):
    kafka_broker.make_topic(broker, "first")
    send_some(broker, "first", 1, (0, 1))
    assert give(broker, "first", 1) == 0 and sent(broker, "first") == whole(1)


@pytest.mark.parametrize("first_look", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_messages_of_others_come_between(broker, monkeypatch, first_look):
    monkeypatch.setattr(log_topic, "_FIRST_LOOK", first_look)
    topic = f"others-{first_look}"
    kafka_broker.make_topic(broker, topic, 2)
    for batch in (0, 1):
        give(broker, topic, batch)
    other = sink(broker, topic)
    for batch in range(20):
        other.write(answers(batch), "two", batch)
    send_some(broker, topic, 2, (0, 4))
    assert [sink(broker, topic).latest(name) for name in ("one", "two", "three")] == [1, 19, None]
    give(broker, topic, 2)
    own = [(int(about["skyband-batch"]), int(about["skyband-row"])) for _, _, about in all_messages(broker, topic)
           if about["skyband-stream"] == b"one"]  # fmt: skip
    assert sorted(own) == [(batch, row) for batch in range(3) for row in range(6)]


def test_other_answers_under_its_number_are_an_error(broker):
    kafka_broker.make_topic(broker, "changed")
    send_some(broker, "changed", 3, (0, 1))
    new = sink(broker, "changed")
    with pytest.raises(ConfigError, match="table: has row 0 of micro-batch 3 with other values: "):
        new.write(answers(7), "one", 3)
    assert sent(broker, "changed") == whole(3)[:2]


def test_a_broker_that_goes_away_leaves_a_part_that_is_completed(tmp_path):
    with kafka_broker.process_of(tmp_path) as (address, process):
        log = sink(address, "log")
        log.write(answers(0), "one", 0)
        log.sink._delivery("one").seconds = 0.3
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        with pytest.raises(EngineError, match="were not delivered to the topic 'log'"):
            log.write(answers(1), "one", 1)
        process.send_signal(signal.SIGCONT)
        log.sink._delivery("one").seconds = 60
        for batch in (1, 2):
            latest = log.latest("one")
            if latest is None or batch > latest:
                log.write(answers(batch), "one", batch)
        assert sent(address, "log") == whole(0, 1, 2)


def test_a_topic_that_keeps_only_the_last_of_each_key_is_refused(broker):
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic("compact", 1, 1, config={"cleanup.policy": "compact"})])["compact"].result(5)
    for act in (lambda one: one.check(answers(0).schema), lambda one: one.write(answers(0), "one", 0)):
        with pytest.raises(ConfigError, match=r"cleanup.policy = compact, which keeps only the last answer of each gr"):
            act(sink(broker, "compact"))
    assert sent(broker, "compact") == []


def test_a_batch_is_added_and_overwrites_nothing(broker):
    for _ in range(2):
        assert sink(broker, "batch").append(answers(0)) is None
    assert sent(broker, "batch") == whole(0, 0)
    with pytest.raises(ConfigError, match="mode: a topic cannot be overwritten: use append"):
        sink(broker, "batch").append(answers(0), replace=True)


def test_a_job_adds_all_its_answers(tmp_path, broker):
    pytest.importorskip("skyband_totals")  # the query of the job; the plugin may be alone
    call = BoardJob(tmp_path, f'format = "kafka"\noptions = {{ "kafka.bootstrap.servers" = "{broker}" }}\n')
    expected = in_order(local.apply(visits(), QUERY).to_pylist())
    assert expected
    for number, mode in enumerate(("errorifexists", "append")):
        ran = call("run", "query.answers=all", f"sink.mode={mode}")
        assert ran.exit_code == 0, ran.stderr
        rows = [json.loads(value) for _, value, _ in all_messages(broker, "board")]
        assert in_order(rows) == sorted((1 + number) * expected, key=repr)
    again = call("run", "query.answers=all")
    assert again.exit_code == 1 and "sink.table: 'board' already exists" in again.stderr, again.stderr
