"""A compacted topic of the newest answer, read back from a local broker, also after kills."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import kafka_broker
import pyarrow as pa
import pytest
import topic_kills
from board import OTHER_COLUMNS, BoardJob, in_order, newest, visits
from skyband.errors import ConfigError, EngineError
from skyband_jobs.formats import NetChanges, TableKeys, open_sink
from skyband_lakes.kafka.compacted import CompactedSink
from skyband_specs.formats import CHECKS, FormatSubject, verify_format_subject
from topic_trial import QUICK, TopicTrial, newest_messages

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

KEY = ["place", "rank"]
TRIAL = f"{TopicTrial.__module__}:{TopicTrial.__qualname__}"
SUBJECT = FormatSubject("format/kafka", "skyband_lakes.kafka.format:KafkaFormat", TRIAL, ("current",))


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with kafka_broker.running(tmp_path_factory.mktemp("broker")) as address:
        kafka_broker.make_topic(address, "ready")
        yield address


CHECKED = [
    pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one.group == "kills" else [])
    for one in CHECKS
    if {*one.needs} <= {"shows", "current"}
]


@pytest.mark.parametrize("one", CHECKED)
def test_conformance(one, broker, monkeypatch):
    monkeypatch.setenv("TRIAL_BROKER", broker)
    report = verify_format_subject(SUBJECT, checks=[one])
    assert report.ok and report.counts()["passed"], report.text()


def sink(address, topic, **options):
    return open_sink("kafka", topic, {"kafka.bootstrap.servers": address, **QUICK, **options}, key=KEY)


@pytest.mark.parametrize(("kills", "batches"), [(6, 12), pytest.param(40, 200, marks=pytest.mark.slow)])
def test_the_newest_answer_is_read_back_through_kills(kills, batches, broker, tmp_path):
    topic = f"kills-{kills}"
    command = [
        sys.executable,
        "-W",
        "ignore",
        topic_kills.__file__,
        broker,
        topic,
        str(kills),
        str(batches),
        str(tmp_path),
    ]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    killed, done = map(int, ran.stdout.split())
    assert killed > kills / 2 and done == batches
    table = {}
    for batch in range(batches):
        for row in log(batch).to_pylist():
            table.pop((row["place"], row["rank"]), None)
            if row.pop("change") != "left":
                table[row["place"], row["rank"]] = row
    stands = TopicTrial().rows(None, TableKeys(table=topic, options={"kafka.bootstrap.servers": broker}))
    assert sorted(stands, key=repr) == sorted(table.values(), key=repr)


def log(batch):
    return TopicTrial().log(batch)


def sent(address, topic):
    """All messages in order: key, value and headers."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "reader", "enable.partition.eof": "true", "fetch.wait.max.ms": "20"}
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    try:
        messages = []
        while True:
            for one in consumer.consume(1000, 0.1):
                if one.error() is not None:
                    return messages
                messages.append((json.loads(one.key()), one.value(), dict(one.headers() or [])))
    finally:
        consumer.close()


def test_deleted_rows_are_sent_first_and_messages_have_their_micro_batch(broker):
    sink(broker, "order").write(log(0), "one", 0)
    sink(broker, "order").write(log(1), "one", 1)
    keys = [{"place": place, "rank": rank} for place, rank in (("a", 1), (None, 2), ("", 3))]
    assert [(key, value is None) for key, value, _ in sent(broker, "order")] == [
        (keys[2], True),
        (keys[0], False),
        (keys[1], False),
        (keys[1], True),
        (keys[0], False),
        (keys[2], False),
    ]
    assert sent(broker, "order")[-1][2] == {"skyband-stream": b"one", "skyband-batch": b"1"}
    from confluent_kafka.admin import AdminClient, ConfigResource

    admin, resource = AdminClient({"bootstrap.servers": broker}), ConfigResource(ConfigResource.Type.TOPIC, "order")
    assert admin.describe_configs([resource])[resource].result(5)["cleanup.policy"].value == "compact"


def test_a_topic_whose_broker_deletes_old_messages_is_refused(broker):
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic("delete", 1, 1, config={"cleanup.policy": "delete"})])["delete"].result(5)
    for act in (lambda one: one.check(log(0).schema), lambda one: one.write(log(0), "one", 0)):
        with pytest.raises(ConfigError, match=r"cleanup.policy = delete, .* --add-config cleanup.policy=compact"):
            act(sink(broker, "delete"))
    assert sent(broker, "delete") == []


def test_a_topic_of_other_messages_is_refused(broker):
    kafka_broker.make_topic(broker, "other")
    kafka_broker.send(broker, "other", ["[1, 2]"])
    with pytest.raises(ConfigError, match="table: the topic 'other' has other values than rows, and the answers place"):
        sink(broker, "other").write(log(0), "one", 0)


ONE_RUN = {"kafka.transactional.id": "board", "kafka.enable.idempotence": "true"}


def test_each_micro_batch_may_be_a_transaction(broker):
    """Readers of committed messages see whole answers, and none of a run that was replaced by another."""
    first = sink(broker, "whole", **ONE_RUN)
    first.write(log(0), "one", 0)
    second = sink(broker, "whole", **ONE_RUN)
    second.write(log(1), "one", 1)
    stands = newest_messages(broker, "whole")
    assert sorted(row["rank"] for row in stands.values()) == [1, 3]
    with pytest.raises(EngineError, match="the answers were not delivered to the topic 'whole'"):
        first.write(log(0), "one", 0)
    assert newest_messages(broker, "whole") == stands
    second.write(log(2), "one", 2)
    assert sorted(row["rank"] for row in newest_messages(broker, "whole").values()) == [2, 3]


def test_a_broker_that_goes_away_ends_the_micro_batch_and_nothing_comes_late(tmp_path):
    with kafka_broker.running(tmp_path) as address:
        board = sink(address, "board")
        board.write(log(0), "one", 0)
        inner = board.sink.sink
    inner._delivery.seconds = 0.3
    with pytest.raises(EngineError, match=r"3 of 3 answers were not delivered to the topic 'board'"):
        board.write(log(1), "one", 1)
    assert inner._delivery._producer is None


def test_a_broker_that_comes_back_is_waited_for(tmp_path):
    with kafka_broker.process_of(tmp_path) as (address, process):
        board = sink(address, "board")
        board.write(log(0), "one", 0)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)  # it may answer once more before it stops
        waiting = threading.Thread(target=lambda: board.write(log(1), "one", 1))
        waiting.start()
        time.sleep(0.3)
        assert waiting.is_alive()
        process.send_signal(signal.SIGCONT)
        waiting.join()
        stands = newest_messages(address, "board")
        sink(address, "whole").write(log(0), "one", 0)
        sink(address, "whole").write(log(1), "one", 1)
        assert stands == newest_messages(address, "whole") != {}


SINK = """format = "kafka"
options = { "kafka.bootstrap.servers" = "ADDRESS", "kafka.log_level" = "0" }
"""


@pytest.fixture
def call(tmp_path, broker):
    pytest.importorskip("skyband_totals")  # the query of the job; the plugin may be alone
    return BoardJob(tmp_path, SINK.replace("ADDRESS", broker))


def test_a_job_leaves_the_newest_answer_in_its_topic(call, broker):
    checked = call("check")
    assert checked.exit_code == 0, checked.output
    ran = call("run")
    assert ran.exit_code == 0, ran.stderr

    def stands():
        return in_order(newest_messages(broker, "board").values())

    assert stands() == newest(visits()) != []
    again = call("run")
    assert again.exit_code == 1 and "sink.table: 'board' already exists" in again.stderr, again.stderr
    for mode in ("append", "overwrite"):
        assert call("run", f"sink.mode={mode}").exit_code == 0
        assert stands() == newest(visits()), mode
    told = call("check", "sink.mode=append", *OTHER_COLUMNS)
    assert told.exit_code == 1 and "sink.table: the topic 'board' has rows of host, at, window" in told.stdout, (
        told.stdout
    )


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (["sink.options={}"], 'sink.options.kafka.bootstrap.servers: is required, such as "broker1:9092"'),
        (["sink.options.topic=board"], "sink.options.topic: the topic is `table`: remove it"),
        (["sink.options.acks=all"], "sink.options.acks: is not an option of kafka: remove it"),
        (["sink.path=out"], "sink.path: belongs to other formats: name the topic with table"),
    ],
)
def test_wrong_keys_of_a_job_are_reported_before_it_runs(call, sets, told):
    checked = call("check", *sets)
    assert checked.exit_code == 1 and told in checked.stdout, checked.stdout


@pytest.mark.parametrize("is_opened_again", [False, True])
def test_rows_with_other_columns_are_refused_whenever_they_come(broker, is_opened_again):
    """Also by a sink that has written already: a service may read its job again."""
    topic, kinds = f"columns-{is_opened_again}".lower(), pa.schema([("place", pa.string()), ("rank", pa.int64())])
    rows = pa.table({"place": ["a", "b"], "rank": [1, 1], "object": ["x", "y"]})
    changed = rows.append_column("total", pa.array([1, 2]))
    options = {"bootstrap.servers": broker}
    writer = CompactedSink(topic, options, tuple(KEY))
    writer.apply(NetChanges(tuple(KEY), kinds.empty_table(), rows))
    writer.apply(NetChanges(tuple(KEY), kinds.empty_table(), rows.slice(1)))
    again = CompactedSink(topic, options, tuple(KEY)) if is_opened_again else writer
    with pytest.raises(ConfigError, match=r"has rows of place, rank, object, and the answers place, rank, object, tot"):
        again.apply(NetChanges(tuple(KEY), kinds.empty_table(), changed))
    again.apply(NetChanges(tuple(KEY), kinds.empty_table(), rows))
    assert len(newest_messages(broker, topic)) == 2
