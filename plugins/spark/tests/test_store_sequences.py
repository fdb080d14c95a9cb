"""The state store by itself, whatever happens to tasks and checkpoints: its content equals a dictionary's.

The operator is a dictionary too, so that hundreds of random histories take a second.
"""

import itertools
import json
from collections import OrderedDict

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns import record_batch_bytes
from skyband.errors import SnapshotError
from skyband.operator.logged_batch import LoggedBatch
from skyband_spark.frames import checkpoint, state_store, step_log
from skyband_spark.frames.lent_operators import CachedOperator
from skyband_spark.frames.state_store import Head, StateStore
from skyband_spark.frames.step_log import StepLog
from task_stores import Store

CHUNK, LOGGED, CACHED, PIECE = 64, 6, 3, 500


class Entries:
    """An operator that keeps the latest text of each key; no text ends a key. Each step has a watermark."""

    def __init__(self, query):
        self.query, self.texts, self.watermark, self.joined = query, {}, None, None

    def add(self, frame):
        for key, text in zip(*(column.to_pylist() for column in frame.columns), strict=True):
            self.texts.pop(key, None)
            if text:
                self.texts[key] = text

    def logged_batch(self, frames):
        return LoggedBatch((), self.watermark, [0]).encode(frames)

    def replay(self, batches):
        for batch in batches:
            for frame in batch.frames:
                self.add(frame)
            self.watermark = batch.watermark

    def snapshot(self):
        return json.dumps([self.query, self.watermark, sorted(self.texts.items())]).encode()

    def restore(self, blob, joined=None):
        query, self.watermark, entries = json.loads(blob)
        self.texts = dict(entries)
        changed = query != self.query
        self.joined = (self.watermark if joined is None else joined) if changed else None
        return changed


class Plan:
    """What a store needs of a plan: a query, and its operators."""

    shards = 1

    def __init__(self, query):
        self.query = query

    def operator(self, number):
        assert number == 0
        return Entries(self.query)

    def made(self, operator):
        return operator.query == self.query


class Stream:
    """A checkpoint, and a dictionary of its expected content."""

    def __init__(self, held=None, texts=None, step=0, query="first"):
        self.held, self.texts, self.step, self.query = held or {}, texts or {}, step, query

    def copy(self):
        return Stream(Store(self.held).held, dict(self.texts), self.step, self.query)


class Cluster:
    """Workers, on one of which a task runs; each keeps anything between tasks."""

    def __init__(self, rng, monkeypatch, workers=3):
        self.rng, self.monkeypatch, self.query = rng, monkeypatch, "first"
        self.caches = [OrderedDict() for _ in range(workers)]

    def rows(self):
        """Some keys with new texts, long and short, or without: states grow and shrink by many chunks."""
        count = int(self.rng.integers(0, 5))
        lengths = self.rng.choice([0, 1, 30, 300], count, p=[0.3, 0.3, 0.3, 0.1])
        columns = {
            "key": [f"k{n}" for n in self.rng.integers(0, 8, count)],
            "text": [chr(97 + int(self.rng.integers(26))) * length for length in lengths],
        }
        return pa.RecordBatch.from_pydict(columns, pa.schema([("key", pa.string()), ("text", pa.string())]))

    def task(self, stream, fails):
        """A micro-batch of a stream on some worker; one that fails does so before its work is done, or after."""
        worker, frame, store = int(self.rng.integers(len(self.caches))), self.rows(), Store(stream.held)
        self.monkeypatch.setattr(state_store, "_CACHE", self.caches[worker])
        kept = StateStore(store)
        operator = kept.load(Plan(self.query), 0)
        assert operator.texts == stream.texts, "what was loaded is what was committed"
        assert operator.query == self.query
        changed = stream.step > 0 and self.query != stream.query
        assert operator.joined == (stream.step if changed else None), "parts join once, where the stream stands"
        operator.joined = None
        if stream.step:
            assert operator.watermark == stream.step
        operator.add(frame)
        operator.watermark = stream.step + 1
        if fails and self.rng.random() < 0.5:
            return  # before the end, its operator being further than the state
        nbytes = kept.commit(operator, [record_batch_bytes.to_bytes(frame)] if len(frame) else [])
        assert len(self.caches[worker]) <= CACHED
        if not fails:
            stream.held, stream.texts, stream.step = store.held, operator.texts.copy(), stream.step + 1
            stream.query = self.query
            check(stream, nbytes, self.query)


def check(stream, nbytes, query):
    """A committed state has the chunks and steps of its head and no others, and a reader of checkpoints reads it."""
    head = Head._make(stream.held["head"])
    chunks, log = stream.held["chunks"], stream.held["log"]
    assert sorted(chunks) == [(number,) for number in range(-(-head.base_size // CHUNK))]
    steps = range(head.base + 1, head.step + 1)
    assert [key for (key,) in sorted(log) if key > 0] == [*steps]
    assert len(steps) <= LOGGED
    pieces = [(-key >> 20, -key % 2**20) for (key,) in log if key < 0]
    assert {step for step, _ in pieces} == {step for step in steps if not log[step,][1]}
    assert all((step, number - 1) in pieces for step, number in pieces if number)
    assert max((len(data) for _, data in log.values()), default=0) <= PIECE
    assert head.format == state_store.FORMAT
    assert head.step > head.base or head.token == head.base_token
    sizes = sum(len(data) for (data,) in chunks.values()), sum(len(data) for _, data in log.values())
    assert sizes == (head.base_size, head.logged) and nbytes == sum(sizes)
    blob = checkpoint._whole(head, {number: data for (number,), (data,) in chunks.items()})
    with pytest.raises(SnapshotError, match="its head expects"):
        checkpoint._whole(head, dict.fromkeys(range(len(blob) + 1), b"x"))
    operator = checkpoint.ShardState(0, head, blob, tuple(_batches(head, log))).restore(Plan(query))
    assert (operator.texts, operator.watermark) == (stream.texts, head.step)
    joining = checkpoint.ShardState(0, head, blob, tuple(_batches(head, log))).restore(Plan("another"))
    assert joining.joined == head.step, "parts that a reader has and the state has not join where its log ends"


def _batches(head, log):
    return checkpoint._logged(head, {step: data for (step,), (_, data) in log.items()})


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(state_store, "CHUNK", CHUNK)
    monkeypatch.setattr(state_store, "MOST_LOGGED", LOGGED)
    monkeypatch.setattr(step_log, "PIECE", PIECE)
    monkeypatch.setattr(state_store, "MOST_CACHED", CACHED)
    monkeypatch.setattr(state_store, "MOST_TO_CATCH_UP", 1e9)  # what a step costs is another test's


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_a_task_starts_from_what_was_committed(seed, monkeypatch):
    """Tasks fail and are tried with other rows, move, their workers end; the job changes; a checkpoint is set back or
    copied, and both go on, with the same shard in the same workers."""
    rng = np.random.default_rng(seed)
    cluster, streams, earlier = Cluster(rng, monkeypatch), [Stream()], []
    for _ in range(60):
        place = int(rng.integers(len(streams)))
        event = rng.choice(
            ["fails", "worker ends", "changes", "kept", "set back", "copied", "goes on"],
            p=[0.15, 0.04, 0.04, 0.1, 0.06, 0.03, 0.58],
        )
        if event == "fails":
            cluster.task(streams[place], fails=True)
        elif event == "worker ends":
            cluster.caches[rng.integers(len(cluster.caches))].clear()
        elif event == "changes":
            cluster.query = str(rng.choice(["first", "second"]))
        elif event == "kept":
            earlier.append(streams[place].copy())
        elif event == "set back" and earlier:
            streams[place] = earlier[rng.integers(len(earlier))].copy()
        elif event == "copied":
            streams.append(streams[place].copy() if rng.random() < 0.5 else Stream())
        else:
            cluster.task(streams[place], fails=False)


@pytest.mark.parametrize("size", [1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK, 5 * CHUNK + 1])
def test_a_stream_that_starts_with_a_state_continues_from_it(size, monkeypatch):
    """Of any length about a chunk's, its chunks given in any parts."""
    rng = np.random.default_rng(size)
    for _ in range(5):
        stream, store = Stream(texts={}), Store()
        entries = Entries("first")
        entries.watermark = 1
        entries.texts = {"k1": "x" * max(size - len(entries.snapshot()) - len('["k1", ""]'), 0)} if size > 50 else {}
        blob = entries.snapshot()
        chunks = [(number, blob[start : start + CHUNK]) for number, start in enumerate(range(0, len(blob), CHUNK))]
        rng.shuffle(chunks)
        cut = int(rng.integers(len(chunks) + 1))
        for part in (chunks[:cut], chunks[cut:]):
            StateStore(store).begin(part, len(blob), 1)
        stream.held, stream.texts, stream.step = store.held, entries.texts, 1
        stream.held.setdefault("log", {})
        check(stream, len(blob), "first")
        cluster = Cluster(rng, monkeypatch)
        for _ in range(5):
            cluster.task(stream, fails=bool(rng.random() < 0.3))


def test_streams_are_distinguished_by_more_than_their_steps(monkeypatch):
    """Every state has an id and every step a token of its own: nothing follows from rows or numbers."""
    heads = []
    for _ in range(3):
        stream, cluster = Stream(), Cluster(np.random.default_rng(1), monkeypatch)
        for _ in range(3):
            cluster.task(stream, fails=False)
            heads.append(Head._make(stream.held["head"]))
    assert len({head.token for head in heads}) == 9 and len({head.shard_id for head in heads}) == 3


@pytest.mark.parametrize("given", [0, 40, 1000])
def test_a_log_grows_to_its_limit_in_length_or_size_and_no_step_further(given, monkeypatch):
    """By steps that bring nothing, a few bytes, or so many that the log outgrows the state first."""
    monkeypatch.setattr(state_store, "_CACHE", OrderedDict())
    columns, held, heads = pa.schema([("key", pa.string()), ("text", pa.string())]), {}, []
    for step in range(4 * LOGGED):
        store = Store(held)
        kept = StateStore(store)
        operator = kept.load(Plan("first"), 0)
        operator.add(pa.RecordBatch.from_pydict({"key": ["k"], "text": [1500 * "x"]}, columns))
        operator.watermark = step + 1
        kept.commit(operator, [bytes(given)] if given else [])
        held = store.held
        heads.append(Head._make(held["head"]))
    for before, after in itertools.pairwise(heads):
        may_log = after.step - before.base <= LOGGED and before.logged + given <= 2 * before.base_size
        assert after.base == (before.base if may_log else after.step)
    longest = max(head.step - head.base for head in heads)
    assert longest == LOGGED if given < 1000 else 1 < longest < LOGGED


@pytest.mark.parametrize("size", [1, 499, 500, 501, 999, 1000, 1001, 2500])
def test_a_step_is_read_as_it_was_written_whatever_its_bytes(size):
    store, data = Store(), np.random.default_rng(size).bytes(size)
    log = StepLog(store.getMapState("log", "", ""))
    for step, own in ((1, b"before"), (2, data), (3, data[::-1])):
        log.write(step, bytes([step]) * 16, own)
    held = store.held["log"]
    assert len(held) == 3 + 2 * (0 if size <= PIECE else -(-size // PIECE))
    entries = {key: own for (key,), (_, own) in held.items()}
    for step, own in ((1, b"before"), (2, data), (3, data[::-1])):
        assert log.token(step) == bytes([step]) * 16
        assert log.load(step) == step_log.bytes_of(entries, step) == own
    with pytest.raises(SnapshotError, match="lacks step 4"):
        step_log.bytes_of(entries, 4)
    log.remove([2])
    assert {key for (key,) in held if key in (1, 2) or -key >> 20 == 2} == {1}
    log.remove([1, 3])
    assert not held


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 99, 100, 101])
def test_the_frames_of_a_step_are_returned_in_order_of_arrival(count):
    frames = [pa.RecordBatch.from_pydict({"time": [number], "group": [0]}) for number in range(count)]
    step = LoggedBatch((), 7, [0]).encode([record_batch_bytes.to_bytes(frame) for frame in frames])
    assert [frame["time"][0].as_py() for frame in LoggedBatch.decode(step).frames] == [*range(count)]


def test_a_worker_keeps_the_shards_that_it_had_last(monkeypatch):
    cluster, streams = Cluster(np.random.default_rng(3), monkeypatch, workers=1), [Stream() for _ in range(CACHED + 3)]
    turns, had = [*range(CACHED + 3), 4, 1, 5, 1, 0, 4, 2, 2, 3], []
    for place in turns:
        cluster.task(streams[place], fails=False)
        had = [one for one in had if one != place] + [place]
        ids = [Head._make(streams[one].held["head"]).shard_id for one in had[-CACHED:]]
        assert [*cluster.caches[0]] == ids


class Asked:
    """Neighbours who have nothing, and who is asked for what."""

    def __init__(self):
        self.working, self.tokens = False, []

    def borrow(self, plan, token):
        self.tokens.append(token)


@pytest.mark.parametrize("seed", range(5))
def test_neighbours_are_asked_if_state_and_log_are_a_quarter_of_the_rows(seed, monkeypatch):
    """To the byte, however much of it is log; and never for what this worker has, or for a shard without a state."""
    cluster, stream = Cluster(np.random.default_rng(seed), monkeypatch, workers=1), Stream()
    logged = 0
    for _ in range(20):
        asked, store = Asked(), Store(stream.held)
        kept = StateStore(store, asked)
        assert kept.borrow(Plan("first"), 0) is None and asked.tokens == [], "it is here, or nowhere"
        cluster.task(stream, fails=False)
        monkeypatch.setattr(state_store, "_CACHE", OrderedDict())
        head, asked = Head._make(stream.held["head"]), Asked()
        most = state_store._MOST_SENT * (head.base_size + head.logged)
        for row_bytes in (0, most, most + 1):
            assert StateStore(Store(stream.held), asked).borrow(Plan("first"), row_bytes) is None
        assert asked.tokens == [head.token] * 2
        failed = CachedOperator(None, head.step, bytes(16), 0.0, 0.0)  # of a task that did the same step and failed
        monkeypatch.setattr(state_store, "_CACHE", OrderedDict({head.shard_id: failed}))
        assert StateStore(Store(stream.held), asked).borrow(Plan("first"), 0) is None
        assert asked.tokens == [head.token] * 3
        logged += head.logged > 0
        monkeypatch.setattr(state_store, "_CACHE", cluster.caches[0])
    assert logged


def test_an_operator_is_lent_once_for_its_token_and_stays_for_any_other(monkeypatch):
    cluster, stream = Cluster(np.random.default_rng(7), monkeypatch, workers=1), Stream()
    for _ in range(10):
        before = stream.held.get("head")
        cluster.task(stream, fails=False)
        head = Head._make(stream.held["head"])
        others = [bytes(16), head.shard_id] + ([] if before is None else [Head._make(before).token])
        assert [state_store._take(head.shard_id, token) for token in others] == [None] * len(others)
        assert state_store._take(bytes(16), head.token) is None
        store = Store(stream.held)
        StateStore(store).load(Plan("first"), 0)
        assert store.read == 0, "who comes for another step takes nothing away"
        monkeypatch.setattr(state_store, "_CACHE", cluster.caches[0])
        cluster.task(stream, fails=False)
        head = Head._make(stream.held["head"])
        operator = state_store._take(head.shard_id, head.token)
        assert (operator.step, operator.token) == (head.step, head.token)
        assert state_store._take(head.shard_id, head.token) is None


@pytest.mark.parametrize("last", [0, 1, 9, 10, 11, 99, 100, 1000])
def test_the_last_micro_batch_is_that_of_the_largest_number(last, tmp_path):
    """Whatever other files are there: Spark's own for a file system, and a number in other digits."""
    assert checkpoint.last_committed(tmp_path) == -1
    (tmp_path / "commits").mkdir()
    assert checkpoint.last_committed(tmp_path) == -1
    for number in range(last + 1):
        (tmp_path / "commits" / str(number)).touch()
    for name in (f".{last + 1}.crc", f"{last + 1}.tmp", "\u0669" * 5, "metadata"):
        (tmp_path / "commits" / name).touch()
    assert checkpoint.last_committed(tmp_path) == last
