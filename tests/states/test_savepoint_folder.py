"""A savepoint's folder: complete or not there, and refused where it is damaged."""

import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from attrs import evolve
from families import FAMILIES, family
from skyband.errors import ConfigError, EngineError, SkybandError, SnapshotError
from skyband.queries import examples_of, kinds, load_query
from skyband_jobs.running import savepoint
from skyband_jobs.running.savepoint import Position, source_facts
from skyband_jobs.tables.model import Job, Sink, Source
from skyband_spark.savepoints.start import MARK, _partial_folder, begin_from
from skyband_specs.queries.case import QueryCase

STATES = [b"one", b"two and more"]
SOURCE = {"format": "parquet", "path": "/somewhere"}


def write(folder, query=None, log=None):
    position = Position(SOURCE, '{"logOffset":3}', log)
    return savepoint.write(folder, query or family("distinct-count"), STATES, 7, {"spark": "4"}, position)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_savepoint_comes_back(tmp_path, kind):
    log = tmp_path / "log"
    log.mkdir()
    (log / "0").write_text("v1")
    asked = family(kind, by=["place"])
    write(tmp_path / "saved", asked, log)
    (tmp_path / "saved").rename(tmp_path / "moved")
    held = savepoint.read(tmp_path / "moved")
    assert held.query == asked and held.snapshots() == STATES and held.watermark == 7
    assert held.position.offset == '{"logOffset":3}' and held.position.source == SOURCE
    assert (held.position.log / "0").read_text() == "v1"


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from families import family
from skyband.queries import examples_of, kinds, load_query
from skyband_jobs.running import savepoint

class Killing(list):
    def __iter__(self):
        yield b"one"
        os.kill(os.getpid(), signal.SIGKILL)

savepoint.write(Path(sys.argv[1]), family("distinct-count"), Killing(), 7, {}, None)
"""


def test_one_that_is_killed_while_it_is_written_is_not_there(tmp_path):
    tests = str(Path(__file__).parents[1])
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "saved"), tests], capture_output=True)
    assert killed.returncode == -9, killed.stderr
    assert not (tmp_path / "saved").exists()
    with pytest.raises(EngineError, match="does not exist: `skyband savepoint JOB DIR` makes one"):
        savepoint.read(tmp_path / "saved")
    assert write(tmp_path / "saved").snapshots() == STATES


def test_one_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        savepoint.write(tmp_path / "saved", family("top-k"), [b"one", "two"], 7, {}, None)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path):
    (tmp_path / "saved").mkdir()
    write(tmp_path / "saved")
    with pytest.raises(EngineError, match="choose another folder"):
        write(tmp_path / "saved")


def test_states_come_by_the_number_of_their_shard(tmp_path):
    write(tmp_path / "saved")
    path = tmp_path / "saved" / "savepoint.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "states": manifest["states"][::-1]}))
    assert savepoint.read(tmp_path / "saved").snapshots() == STATES


@pytest.mark.parametrize("shards", [pair for pair in product(range(-1, 3), repeat=2) if {*pair} != {0, 1}], ids=str)
def test_states_that_are_not_one_of_each_shard_are_refused(tmp_path, shards):
    """One shard is there twice, or one is missing: what is left is not the state of the stream."""
    write(tmp_path / "saved")
    path = tmp_path / "saved" / "savepoint.json"
    manifest = json.loads(path.read_text())
    states = [{**entry, "shard": shard} for entry, shard in zip(manifest["states"], shards, strict=True)]
    path.write_text(json.dumps({**manifest, "states": states}))
    with pytest.raises(SnapshotError, match="2 states are for the shards"):
        savepoint.read(tmp_path / "saved")


@pytest.mark.parametrize(
    ("before", "here", "said"),
    [
        ({"where": None, "select": None}, {"where": "status = 404"}, "source.where: was nothing .*got 'status = 404'"),
        ({"where": None, "select": ["ts"]}, {}, "source.select: was .'ts'. .*got nothing"),
    ],
)
def test_rows_that_are_chosen_otherwise_are_refused(tmp_path, before, here, said):
    position = Position({**SOURCE, **before}, "-", None)
    held = savepoint.write(tmp_path / "saved", family("distinct-count"), STATES, 7, {}, position)
    source = Source("parquet", "/somewhere", stream=True, **here)
    job = Job("counts", source, held.query, {}, Sink("parquet", "counts", "checkpoint"), {}, None)
    with pytest.raises(ConfigError, match=said):
        savepoint.check_sources(job, held)


def test_a_savepoint_holds_no_password_and_is_of_the_same_source_under_a_new_one(tmp_path):
    def source(password):
        return Source("parquet", f"s3a://reader:{password}@lake/visits", stream=True)

    position = Position(source_facts(source("hunter2")), "-", None)
    savepoint.write(tmp_path / "saved", family("distinct-count"), STATES, 7, {}, position)
    manifest = tmp_path / "saved" / "savepoint.json"
    kept = manifest.read_text()
    assert "hunter2" not in kept
    held = savepoint.read(tmp_path / "saved")
    job = Job("counts", source("another"), held.query, {}, Sink("parquet", "a", "b"), {}, None)
    savepoint.check_sources(job, held)
    with pytest.raises(ConfigError, match=r"source.path: was 's3a://reader:\*\*\*@lake/visits' "):
        savepoint.check_sources(
            evolve(job, source=Source("parquet", "s3a://reader:hunter2@lake/others", stream=True)), held
        )


@pytest.mark.parametrize("name", ["subscribe", "subscribePattern", "assign"])
def test_a_position_means_nothing_in_other_topics(tmp_path, name):
    def source(topics):
        return Source("kafka", options={name: topics, "startingOffsets": topics}, stream=True)

    position = Position(source_facts(source("visits")), "-", None)
    held = savepoint.write(tmp_path / "saved", family("distinct-count"), STATES, 7, {}, position)
    job = Job("counts", source("visits"), held.query, {}, Sink("parquet", "counts", "checkpoint"), {}, None)
    savepoint.check_sources(job, held)
    with pytest.raises(ConfigError, match=f"source.{name}: was 'visits' .*got 'orders'"):
        savepoint.check_sources(evolve(job, source=source("orders")), held)
    other = {"subscribe": "assign"}.get(name, "subscribe")
    beside = Source("kafka", options={name: "visits", other: "orders"}, stream=True)
    with pytest.raises(ConfigError, match=f"source.{other}: was nothing .*got 'orders'"):
        savepoint.check_sources(evolve(job, source=beside), held)


def cut_a_state(folder):
    (folder / "states" / "00001.skyband").write_bytes(b"two")


def change_json(**changes):
    def change(folder):
        path = folder / "savepoint.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (cut_a_state, "damaged: .*00001.skyband' should have 12 bytes"),
        (
            lambda folder: (folder / "states" / "00000.skyband").write_bytes(b"one and more"),
            "damaged: .*00000.skyband' should have 3 bytes",
        ),
        (lambda folder: (folder / "savepoint.json").write_text("{"), "damaged: savepoint.json"),
        (lambda folder: (folder / "savepoint.json").write_text("[]"), "has no table"),
        (lambda folder: (folder / "savepoint.json").unlink(), "has no savepoint.json"),
        (change_json(format=3, made_by={"skyband": "9"}), "was made by skyband 9, but this is"),
        (change_json(states=[{"file": "../../etc", "bytes": 1}]), "is not the name of a file"),
        (change_json(states=7), "is damaged: TypeError"),
        (change_json(states=[]), "0 states are for the shards"),
        (change_json(states=[{"file": "00000.skyband", "bytes": 3, "shard": 1}]), r"1 states are for the shards \[1\]"),
        (change_json(states=[{"file": "00000.skyband", "bytes": 3}]), "is damaged: KeyError: 'shard'"),
        (change_json(format=3, made_by=7), "was made by skyband None, but this is"),
        (lambda folder: (folder / "savepoint.json").write_text("[" * 100_000), "damaged: savepoint.json: .*recursion"),
        (change_json(query={"kind": "tallest"}), "tallest"),
    ],
)
def test_what_is_damaged_is_refused(tmp_path, damage, said):
    write(tmp_path / "saved")
    damage(tmp_path / "saved")
    with pytest.raises(SkybandError, match=said) as caught:
        savepoint.read(tmp_path / "saved").snapshots()
    assert isinstance(caught.value, SnapshotError) or "savepoint.json" in said or "tallest" in said


def test_a_checkpoint_that_began_with_anything_else_is_not_begun_again(tmp_path):
    """With the same savepoint nothing is left to do; with another, or with none, its rows are not those it goes on
    from."""
    saved = [write(tmp_path / name) for name in ("one", "other")]
    source = Source("parquet", "/somewhere", stream=True)
    checkpoint = tmp_path / "checkpoint"
    job = Job("counts", source, saved[0].query, {}, Sink("parquet", None, str(checkpoint)), {}, None)
    checkpoint.mkdir()
    (checkpoint / MARK).write_text(json.dumps({"savepoint": saved[0].id, "skyband": "1"}))
    begin_from(None, job, None, tmp_path / "one")
    with pytest.raises(EngineError, match="started otherwise"):
        begin_from(None, job, None, tmp_path / "other")
    for text in ("{}", "[]", None):
        (checkpoint / MARK).write_text(text) if text is not None else (checkpoint / MARK).rename(checkpoint / "offsets")
        with pytest.raises(EngineError, match="started otherwise"):
            begin_from(None, job, None, tmp_path / "one")


def test_a_start_removes_what_killed_starts_of_its_checkpoint_left_and_nothing_else(tmp_path):
    def left(name, own):
        (tmp_path / name).mkdir()
        if own is not None:
            (tmp_path / name / "skyband-partial.json").write_text(own)

    own, elsewhere = json.dumps({"checkpoint": "checkpoint"}), tmp_path / "elsewhere"
    left(".skyband-killed.partial", own)
    left(".skyband-of-another.partial", json.dumps({"checkpoint": "another"}))
    left(".skyband-of-somebody.partial", None)
    left("elsewhere", own)
    (tmp_path / ".skyband-link.partial").symlink_to(elsewhere)
    with _partial_folder(tmp_path / "checkpoint") as partial:
        assert partial.parent == tmp_path
        with _partial_folder(tmp_path / "checkpoint"):
            assert (partial / "skyband-partial.json").exists(), "another start is at it"
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        ".skyband-of-another.partial",
        ".skyband-of-somebody.partial",
        ".skyband-link.partial",
        "elsewhere",
    }
    assert (elsewhere / "skyband-partial.json").exists()


@pytest.mark.parametrize("kind", kinds())
def test_every_key_of_a_query_comes_back(tmp_path, kind):
    for number, example in enumerate(examples_of(kind)):
        asked = QueryCase.of(load_query(kind), example).query()
        write(tmp_path / str(number), asked)
        assert savepoint.read(tmp_path / str(number)).query == asked
