"""Answers as messages of a topic, read back from a local broker."""

import json
import pickle
import re
from logging import DEBUG, INFO, WARNING, getLogger
from pathlib import Path

import kafka_broker
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from kafka_broker import make_topic
from skyband.cli.commands import group
from skyband.engines import local
from skyband.errors import ConfigError, EngineError
from skyband.queries import make_query
from skyband_jobs.formats import TableKeys, kafka_sink
from skyband_lakes.kafka.client_log import LastWords
from skyband_lakes.kafka.format import KafkaFormat
from skyband_lakes.kafka.topic import Topic

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
    with kafka_broker.running(tmp_path_factory.mktemp("broker")) as address:
        make_topic(address, "counts")
        yield address


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


def test_problems_are_reported_before_anything_is_sent():
    for key in ([], ["place", "windwo"]):
        with pytest.raises(ConfigError, match="key: must name columns of the rows, place, at, count"):
            kafka_sink("counts", {}, key).write(ANSWERS, "one", 0)
    with pytest.raises(ConfigError, match="a topic cannot be overwritten"):
        kafka_sink("counts", {}, KEY).append(ANSWERS, replace=True)


def test_a_missing_broker_fails_the_micro_batch():
    pytest.importorskip("confluent_kafka", reason="needs the extra kafka")
    sink = kafka_sink("counts", {"bootstrap.servers": "127.0.0.1:9", "log_level": "0"}, KEY)
    sink.seconds = 0.5
    with pytest.raises(EngineError, match=r"3 of 3 answers were not delivered to the topic 'counts' .*127\.0\.0\.1:9"):
        sink.write(ANSWERS, "one", 0)


def test_a_broker_that_is_gone_is_reported_in_one_error_and_not_line_by_line(capfd):
    pytest.importorskip("confluent_kafka", reason="needs the extra kafka")
    gone = {"bootstrap.servers": f"127.0.0.1:{kafka_broker.free_port()}"}
    sink, topic = kafka_sink("counts", gone, KEY), Topic("counts", gone, seconds=0.5)
    sink.seconds = 0.5
    for call in (lambda: sink.write(ANSWERS, "one", 0), lambda: next(topic.messages())):
        with pytest.raises(EngineError, match=r"last log: .* failed: Connection refused"):
            call()
    assert capfd.readouterr() == ("", "")


def test_the_last_line_kept_is_at_least_a_warning(monkeypatch):
    """Also if a program logs every line."""
    monkeypatch.setattr(getLogger("skyband.kafka"), "level", DEBUG)
    last = LastWords()
    logger = last.logger()
    assert last.after("gone") == "gone"
    for level, line in ((WARNING, "is  slow"), (INFO, "is well"), (DEBUG, "is there")):
        logger.log(level, line)
    assert last.after("gone") == "gone; last log: is slow"
    logger.error("is\nlost")
    assert last.after("gone") == "gone; last log: is lost"


def test_a_sink_to_a_topic_travels_to_other_processes():
    assert pickle.loads(pickle.dumps(kafka_sink("counts", {}, KEY))).topic == "counts"


QUERY = {"kind": "distinct-count", "time": "ts", "item": "client", "windows": ["1 minute"], "every": "20 seconds"}
PAGE = Path(__file__).parents[3] / "core" / "docs" / "run" / "kafka.md"
(JOB,) = [
    block
    for block in re.findall(r"^```toml\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    if "kafka" in block and "schema" in block
]


@pytest.fixture(scope="module")
def requests(broker):
    """3000 requests in order, spread over two of the three partitions of a topic."""
    from confluent_kafka import Producer

    make_topic(broker, "requests", 3)
    seconds = [number // 10 for number in range(3000)]
    table = pa.table(
        {
            "ts": pa.array(seconds, pa.timestamp("s", "UTC")).cast(pa.timestamp("us", "UTC")),
            "client": [f"client {number * number % 97}" for number in range(3000)],
        }
    )
    producer = Producer({"bootstrap.servers": broker, "log_level": "0"})
    for number, row in enumerate(table.to_pylist()):
        value = json.dumps(
            {"ts": row["ts"].isoformat(), "client": row["client"], "more": [1]}, indent=number % 2 or None
        )
        producer.produce("requests", value=value, partition=number % 2)
        producer.poll(0)
    producer.produce("requests", key="client 1", value=None, partition=0)  # as in a compacted topic
    assert producer.flush(30) == 0
    return table


@pytest.fixture
def job(tmp_path):
    def call(command, address, *sets):
        path = tmp_path / "job.toml"
        path.write_text(JOB.replace("broker1:9092", address))
        changes = [part for change in sets for part in ("--set", change)]
        return CliRunner().invoke(group, [command, str(path), "--engine", "local", *changes])

    return call


@pytest.mark.parametrize("stream", ["false", "true"])
def test_a_topic_is_read_to_its_end_by_the_local_engine(broker, requests, job, tmp_path, stream):
    keys = [f"source.stream={stream}"] + ["source.finish=true", "sink.trigger=available-now"] * (stream == "true")
    for command in ("check", "run"):
        called = job(command, broker, *keys)
        assert called.exit_code == 0, called.output
    wanted = local.apply(requests, make_query(QUERY))
    written = pq.read_table(tmp_path / "counts").select(wanted.column_names)
    assert len(wanted) == 15 and written.to_pylist() == wanted.to_pylist()


def test_partitions_are_read_side_by_side_each_from_its_own_offset(broker, requests):
    topic = Topic("requests", {"bootstrap.servers": broker}, {1: 500}, at_once=1000)
    turns = list(topic.messages())
    assert [len(turn.values) for turn in turns] == [833, 833, 834]
    assert [place for turn in turns for place in turn.places if place[0] == 1] == [(1, n) for n in range(500, 1500)]
    assert [place for turn in turns for place in turn.places if place[0] == 0] == [(0, n) for n in range(1500)]
    assert [turn.values for turn in topic.messages()] == [turn.values for turn in turns]


def test_a_value_that_cannot_be_read_is_named_by_its_partition_and_offset(broker, job):
    make_topic(broker, "spoilt")
    good = json.dumps({"ts": "2026-01-01T00:00:00Z", "client": "ann"})
    kafka_broker.send(broker, "spoilt", [good, "no JSON", json.dumps({"ts": "yesterday", "client": "bob"}), good])
    start = 'source.options.startingOffsets=\'{"spoilt": {"0": %d}}\''
    for offset, said in (
        (1, "topic spoilt: partition 0, offset 1: is not a JSON object with these columns"),
        (2, "topic spoilt: partition 0, offset 2: ts: cannot be read as timestamp"),
        (9, "options.startingOffsets: partition 0 of 'spoilt' has the offsets 0 to 4 (got 9)"),
    ):
        ran = job("run", broker, "source.options.subscribe=spoilt", start % offset)
        assert ran.exit_code == 1 and said in ran.stderr, ran.stderr
    assert job("run", broker, "source.options.subscribe=spoilt", start % 3).exit_code == 0


def test_values_that_cannot_be_read_are_put_aside_by_their_partition_and_offset(broker, job, tmp_path):
    """Each alone: the other values of its turn are answered, and unusable rows are reported as usual."""
    make_topic(broker, "spoilt in part")
    good = [json.dumps({"ts": f"2026-01-01T00:00:{number:02}Z", "client": f"c{number}"}) for number in range(20)]
    spoilt = {
        3: b"no JSON",
        4: b"\xff{",
        9: b"{} {}",
        14: b'{"ts": "yesterday"}',
        19: b'{"ts": "+99999-01-01", "client": 1}',
    }
    kafka_broker.send(broker, "spoilt in part", [spoilt.get(number, value) for number, value in enumerate(good)])
    sets = ["source.options.subscribe=spoilt in part", "source.options.maxOffsetsPerTrigger=8"]
    counted = job("run", broker, *sets, "query.bad_rows=count", "sink.format=json")
    assert counted.exit_code == 0, counted.stderr
    assert "bad      5 (left out; query.bad_rows = " in counted.stderr
    ran = job("run", broker, *sets, 'query.bad_rows={format="json", path="bad"}', "sink.path=others")
    assert ran.exit_code == 0, ran.stderr
    assert pq.read_table(tmp_path / "others")["count"].to_pylist() == [15.0]
    bad = [json.loads(line) for path in (tmp_path / "bad").glob("part*") for line in path.read_text().splitlines()]
    assert [(row["_field"], row["_value"]) for row in bad] == [
        ("partition 0, offset 3", "no JSON"),
        ("partition 0, offset 4", "\\xff{"),
        ("partition 0, offset 9", "{} {}"),
        ("partition 0, offset 14: ts", '{"ts": "yesterday"}'),
        ("ts", "+99999-01-01 00:00:00+00:00"),  # a time that Spark reads, but in a year that no query supports
    ]
    assert all(row["ts"] is row["client"] is None and "\n" not in row["_reason"] for row in bad[:4])
    assert bad[4]["client"] == "1"
    assert bad[0]["_reason"].startswith("is not a JSON object with these columns")
    assert bad[3]["_reason"].startswith("cannot be read as timestamp[us, tz=UTC]: 'yesterday'")


def test_a_turn_has_at_most_n_offsets(broker, requests, job):
    ran = job(
        "run", broker, "source.stream=true", "sink.trigger=available-now", "source.options.maxOffsetsPerTrigger=100"
    )
    assert "31 micro-batches" in ran.stderr, "for 3000 rows, and a message without a value"


def test_a_missing_topic_or_broker_is_reported(broker, job):
    ran = job("run", broker, "source.options.subscribe=nowhere")
    assert ran.exit_code == 1 and "options.subscribe: the broker has no topic 'nowhere'" in ran.stderr
    absent = Topic("requests", {"bootstrap.servers": "127.0.0.1:9", "log_level": "0"}, seconds=0.5)
    with pytest.raises(
        EngineError, match=r"the topic 'requests' cannot be read .*bootstrap.servers \(127\.0\.0\.1:9\)"
    ):
        next(absent.messages())


@pytest.mark.parametrize(
    ("offsets", "fits"),
    [
        ("earliest", True),
        ({"requests": {"0": -2, "1": 0}}, True),
        ({"requests": {"0": -1}}, False),
        ({"requests": {"0": -3}}, False),
        ({"others": {"0": 1}}, False),
        ({"requests": {}, "others": {}}, False),
        ({"requests": 7}, False),
        ({"requests": {"first": 1}}, False),
        ([1], False),
    ],
)
def test_starting_offsets_are_of_this_topic_and_not_its_end(offsets, fits):
    text = offsets if isinstance(offsets, str) else json.dumps(offsets)
    options = {"subscribe": "requests", "kafka.bootstrap.servers": "there:9092", "startingOffsets": text}
    problems = KafkaFormat().check(TableKeys(options=options, schema=pa.schema([("n", pa.int64())])), on_spark=False)
    told = [problem.field for problem in problems if problem.field != "format"]  # the library may be missing
    assert told == [] if fits else told == ["options.startingOffsets"]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("source.options={}", "source.options.subscribe: is required"),
        ("source.options.subscribe=a,b", "source.options.subscribe: the local engine reads one topic (got 'a,b')"),
        ("source.options.startingOffsets=latest", 'source.options.startingOffsets: must be "earliest", or offsets'),
        (
            "source.options.startingOffset=earliest",
            "is unknown to the local engine; did you mean 'startingOffsets'?",
        ),
        (
            "source.options.maxOffsetsPerTrigger=0",
            "source.options.maxOffsetsPerTrigger: must be a whole number, at least 1 (got '0')",
        ),
        ("source.schema=client STRING", "query.time: the source has no column 'ts'"),
    ],
)
def test_check_reports_keys_that_do_not_fit(job, setting, said):
    pytest.importorskip("confluent_kafka", reason="needs the extra kafka")
    checked = job("check", "127.0.0.1:9", setting)
    assert checked.exit_code == 1 and said in checked.stdout, checked.stdout
