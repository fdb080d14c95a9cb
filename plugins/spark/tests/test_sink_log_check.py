"""A stream's checkpoint and its sink's log, as Spark leaves them: which can resume, and which would lose answers."""

import pytest
from skyband.errors import ConfigError
from skyband_spark.sink_log_check import check_belong, is_seeded, seed


def leave(home, offsets=(), commits=(), logged=(), parts=0):
    """The folders of a stream: the micro-batches it began, those it committed, those its sink lists, its files."""
    for folder, names in {"c/offsets": offsets, "c/commits": commits, "s/_spark_metadata": logged}.items():
        (home / folder).mkdir(parents=True, exist_ok=True)
        for name in names:
            (home / folder / str(name)).touch()
            (home / folder / f".{name}.crc").touch()
    for number in range(parts):
        (home / "s" / f"part-{number:05}-x.parquet").touch()


@pytest.mark.parametrize(
    "folders",
    [
        {},
        {"offsets": [0], "parts": 1},
        {"offsets": [0], "logged": [0], "parts": 1},
        {"offsets": [0, 1], "commits": [0, 1], "logged": [0, 1]},
        {"offsets": [0, 1, 2], "commits": [0, 1], "logged": [0, 1]},
        {"offsets": [0, 1, 2], "commits": [0, 1], "logged": [0, 1, 2]},
        {"offsets": range(8, 11), "commits": range(8, 11), "logged": ["9.compact", *range(7, 11)]},
        {"offsets": range(8, 10), "commits": range(8, 10), "logged": ["9.compact"]},
    ],
)
def test_folders_left_by_any_stop_or_crash_are_accepted(tmp_path, folders):
    check_belong(tmp_path / "c", tmp_path / "s")
    leave(tmp_path, **folders)
    check_belong(tmp_path / "c", tmp_path / "s")


@pytest.mark.parametrize(
    ("folders", "said"),
    [
        (
            {"logged": [0, 1]},
            "of another stream, up to micro-batch 1, but its checkpoint '{c}' is empty: choose another path",
        ),
        ({"logged": ["9.compact"]}, "up to micro-batch 9"),
        ({"parts": 1}, "has answers that no stream wrote"),
        (
            {"offsets": [0, 1], "commits": [0, 1]},
            "is gone, but the checkpoint '{c}' has written micro-batch 1: restore",
        ),
        ({"offsets": [0, 1], "commits": [0, 1], "logged": [0]}, "ends at 0"),
        ({"offsets": [0], "commits": [0], "logged": [0, 1]}, "the checkpoint '{c}' is only at 0: Spark would drop"),
    ],
)
def test_what_would_lose_answers_is_refused(tmp_path, folders, said):
    leave(tmp_path, **folders)
    with pytest.raises(ConfigError) as caught:
        check_belong(tmp_path / "c", tmp_path / "s")
    assert said.format(c=tmp_path / "c") in str(caught.value)
    assert str(tmp_path / "s") in str(caught.value)


def test_a_log_that_lists_only_what_seeding_wrote_is_seeded(tmp_path):
    log, seeds = tmp_path / "_spark_metadata", range(2)
    assert not is_seeded(tmp_path, seeds), "no log"
    log.mkdir()
    assert not is_seeded(tmp_path, seeds), "a log of nothing"
    seed(tmp_path, seeds)
    (log / ".0.crc").touch()
    assert is_seeded(tmp_path, seeds) and not is_seeded(tmp_path, range(1))
    for name, text in (("1", "v1\n{}"), ("2", "v1")):
        before = (log / name).read_bytes() if (log / name).exists() else None
        (log / name).write_text(text)
        assert not is_seeded(tmp_path, seeds), f"{name} lists answers, or a micro-batch of the stream's own"
        (log / name).unlink() if before is None else (log / name).write_bytes(before)
    assert is_seeded(tmp_path, seeds)
