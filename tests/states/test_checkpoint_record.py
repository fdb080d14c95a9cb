"""What a job may change on an existing checkpoint: changes without effect are refused, the rest is free."""

import json

import attrs
import pytest
from attrs import evolve
from skyband.errors import ConfigError, EngineError
from skyband_jobs.running import checkpoint_record
from skyband_jobs.running.checkpoint_record import RECORD
from skyband_jobs.running.savepoint import source_facts
from skyband_jobs.tables.model import Job, Sink, Source

SOURCE = Source("parquet", "visits", stream=True, where="status = 200", select=("ts", "client"))
AWAY_SOURCE = evolve(SOURCE, path="s3a://reader:hunter2@bucket/visits")
JOB = Job("counts", SOURCE, None, {}, Sink("parquet", "counts", "checkpoint"), {}, None)
AWAY = evolve(JOB, source=AWAY_SOURCE)


def check_goes_on(job, checkpoint, engine="spark", has_begun=True):
    checkpoint_record.check_goes_on(job, checkpoint, engine, has_begun)


def test_a_stream_that_failed_before_its_first_micro_batch_can_be_fixed(tmp_path):
    check_goes_on(evolve(JOB, source=evolve(SOURCE, path="misspelt")), tmp_path, has_begun=False)
    check_goes_on(JOB, tmp_path, has_begun=False)
    with pytest.raises(ConfigError, match=r"source\.path: was 'visits'"):
        check_goes_on(evolve(JOB, source=evolve(SOURCE, path="misspelt")), tmp_path)


def test_the_checkpoint_of_another_engine_is_refused_before_its_first_micro_batch_too(tmp_path):
    check_goes_on(JOB, tmp_path, "serve")
    before = (tmp_path / RECORD).read_bytes()
    for has_begun in (True, False):
        with pytest.raises(ConfigError, match=r"^engine: was 'serve' .*got 'spark'.*any, with --from"):
            check_goes_on(JOB, tmp_path, "spark", has_begun)
    assert (tmp_path / RECORD).read_bytes() == before
    check_goes_on(JOB, tmp_path, "serve")


def test_a_record_from_before_engines_were_recorded_is_sparks(tmp_path):
    check_goes_on(JOB, tmp_path)
    record = json.loads((tmp_path / RECORD).read_bytes())
    (tmp_path / RECORD).write_text(json.dumps({key: value for key, value in record.items() if key != "engine"}))
    check_goes_on(JOB, tmp_path)


@pytest.mark.parametrize(
    ("table", "changes", "said"),
    [
        ("sink", {"format": "json"}, "sink.format: was 'parquet' when the checkpoint was created .got 'json'."),
        (
            "source",
            {"where": "status = 404"},
            "source.where: was 'status = 200' .*chosen in different ways; change it back",
        ),
        ("source", {"where": None}, "source.where: was 'status = 200' .*got nothing"),
        ("source", {"select": ("ts", "page AS client")}, "source.select: was .*'client'.*'page AS client'"),
        ("source", {"path": "others"}, "source.path: was 'visits'"),
        ("source", {"format": "json"}, "source.format: was 'parquet'"),
    ],
)
def test_a_change_without_visible_effect_is_refused(tmp_path, table, changes, said):
    check_goes_on(JOB, tmp_path)
    before = (tmp_path / RECORD).read_bytes()
    changed = evolve(JOB, **{table: evolve(getattr(JOB, table), **changes)})
    for _ in range(2):
        with pytest.raises(ConfigError, match=said):
            check_goes_on(changed, tmp_path)
    assert (tmp_path / RECORD).read_bytes() == before
    check_goes_on(JOB, tmp_path)


@pytest.mark.parametrize(
    ("table", "changes"),
    [
        ("source", {"path": "s3a://reader:new@bucket/visits"}),
        ("source", {"options": {"maxFilesPerTrigger": 7}}),
        ("source", {"schema": "ts TIMESTAMP"}),
        ("source", {"finish": True}),
        ("sink", {"trigger": "1 minute"}),
        ("sink", {"options": {"compression": "zstd"}}),
    ],
)
def test_other_changes_are_free(tmp_path, table, changes):
    check_goes_on(AWAY, tmp_path)
    check_goes_on(evolve(AWAY, **{table: evolve(getattr(AWAY, table), **changes)}), tmp_path)


FREE = {
    "stream": False,
    "schema": "ts TIMESTAMP",
    "finish": True,
    "idle_after": "1 minute",
    "reader": "files",
    "url": "postgresql://host/other",
    "catalog": {"name": "other"},
    "distribution": "other",
    "spine": {"format": "csv", "path": "moments"},
}
"""Keys of a source that do not choose its rows: a stream may continue with others."""
ROWS = {
    "format": "json",
    "path": "others",
    "explode": "events",
    "where": "status = 404",
    "select": ("ts",),
    "table": "db.others",
    "options": {"subscribe": "others"},
}


def test_every_key_that_chooses_a_sources_rows_is_recorded():
    """A key that is new to a source has its place in one of the two."""
    assert {*FREE} | {*ROWS} == {entry.name for entry in attrs.fields(Source)}
    of_table = evolve(SOURCE, path=None, table="db.visits")
    for name, value in {**FREE, **ROWS}.items():
        for source in (SOURCE, of_table):
            changed = source_facts(evolve(source, **{name: value})) != source_facts(source)
            assert changed == (name in ROWS), name


def test_a_record_contains_no_password(tmp_path):
    check_goes_on(AWAY, tmp_path)
    assert "reader:***@bucket" in (tmp_path / RECORD).read_text()


@pytest.mark.parametrize("text", ["{", "[" * 100_000])
def test_a_damaged_record_is_told(tmp_path, text):
    (tmp_path / RECORD).write_text(text)
    with pytest.raises(EngineError, match=f"damaged: .*{RECORD}"):
        check_goes_on(JOB, tmp_path)
