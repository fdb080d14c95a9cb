"""No job deletes, replaces or rereads the wrong files: the source, its own file, files of others."""

import shutil
import subprocess

import pytest
from skyband_jobs.job.path_overlap import overlaps
from skyband_jobs.local import sink_manifest as local_sink_manifest
from skyband_jobs.tables.model import Sink, Source


def contents(home):
    return {path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize("mode", ["overwrite", "append", "errorifexists", "ignore"])
@pytest.mark.parametrize(
    ("path", "said"),
    [
        (".", "contains the source"),
        ("requests", "is the source"),
        ("requests/", "is the source"),
        ("./x/../requests", "is the source"),
        ("requests/counts", "is inside the source"),
        ("link", "is the source"),
        ("link/counts", "is inside the source"),
        ("up", "contains the source"),
    ],
)
def test_a_sink_in_or_around_the_source_is_refused(folder, path, said, mode, engine, tmp_path):
    (folder.home / "link").symlink_to("requests", target_is_directory=True)
    (folder.home / "up").symlink_to(tmp_path, target_is_directory=True)
    before = contents(folder.home)
    sets = [part for change in (f"sink.mode={mode}", f"sink.path={path}") for part in ("--set", change)]
    checked = folder.call("check", folder.job, "--engine", engine, *sets)
    assert checked.exit_code == 1
    (line,) = checked.stdout.splitlines()
    assert line.startswith("--set: sink.path: '")
    assert said in line
    assert line.endswith("choose another folder")
    ran = folder.run(f"sink.mode={mode}", f"sink.path={path}", engine=engine)
    assert (ran.exit_code, ran.stderr.strip()) == (1, line)
    assert contents(folder.home) == before


def clash(source, sink, **keys):
    return [problem.message for problem in overlaps(Source("parquet", str(source)), Sink("parquet", str(sink)), **keys)]


@pytest.mark.parametrize(
    ("source", "sink", "said"),
    [
        ("logs/*.parquet", "logs", "contains the source"),
        ("logs/*", "logs/day", "is inside the source"),
        ("logs/*", "logs/day/counts", "is inside the source"),
        ("logs/*/*.parquet", "logs/counts", "is inside the source"),
        ("logs/*/requests", "logs/day/counts", None),
        ("logs/*/requests", "logs/day/requests/counts", "is inside the source"),
        ("logs/day*", "logs/counts", None),
        ("logs/day/a.parquet", "logs/day", "contains the source"),
        ("logs/day/a.parquet", "logs/day/counts", None),
        ("logs/day/a.parquet", "logs/day/a.parquet", "is the source"),
        ("logs", "logs of answers", None),
        ("logs", "counts", None),
        ("links/linked.parquet", "logs/day", "contains the source"),
        ("links", "logs/day", "contains"),
        ("links/*.parquet", "logs/day", "contains"),
        ("none/yet", "none", "contains the source"),
        ("none", "none/yet", "is inside the source"),
    ],
)
def test_patterns_files_and_links(tmp_path, source, sink, said):
    (tmp_path / "logs" / "day").mkdir(parents=True)
    (tmp_path / "logs" / "day" / "a.parquet").touch()
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "linked.parquet").symlink_to(tmp_path / "logs" / "day" / "a.parquet")
    messages = clash(tmp_path / source, tmp_path / sink)
    assert len(messages) == (said is not None)
    assert all(said in message for message in messages)
    assert len(clash(f"file://{tmp_path / source}", tmp_path / sink)) == len(messages)


@pytest.mark.parametrize(
    ("source", "sink", "refused"),
    [
        ("s3://bucket/a", "s3://bucket/a/", True),
        ("s3://bucket/a/b", "s3://bucket/a", True),
        ("s3://bucket/a", "s3://bucket/a/b", True),
        ("s3://bucket/a", "s3://bucket/ab", False),
        ("s3://bucket/a", "/bucket/a", False),
    ],
)
def test_paths_elsewhere_are_compared_as_text(source, sink, refused):
    assert bool(clash(source, sink)) == refused


def test_links_that_lead_round_are_no_trouble(tmp_path):
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    assert clash(tmp_path / "one", tmp_path / "counts") == []


def test_a_sink_around_the_jobs_own_file_is_refused(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.move(folder.home / "requests", elsewhere / "requests")
    before = contents(folder.home)
    for path in (".", "job.toml", str(folder.home)):
        ran = folder.run(f"source.path={elsewhere / 'requests'}", f"sink.path={path}", "sink.mode=append")
        assert ran.exit_code == 1
        assert "contains the job's own file" in ran.stderr
    assert contents(folder.home) == before


def test_a_checkpoint_in_the_source_is_refused(folder):
    ran = folder.call(
        "check", folder.job, "--set", "source.stream=true", "--set", "sink.checkpoint=requests/checkpoint"
    )
    assert "sink.checkpoint: " in ran.stdout
    assert "is inside the source" in ran.stdout


def test_overwriting_replaces_only_what_was_written(folder):
    counts = folder.home / "counts"
    assert folder.run().exit_code == 0
    assert folder.run("sink.mode=append").exit_code == 0
    (counts / "notes.txt").write_text("of a person")
    (counts / "sub").mkdir()
    (counts / "sub" / "part-00000.parquet").write_text("of another")
    ran = folder.run("sink.mode=overwrite", "sink.format=json")
    assert ran.exit_code == 0, ran.stderr
    names = sorted(str(path) for path in contents(counts))
    assert names == ["_skyband.sha256", "notes.txt", "part-00000.json", "sub/part-00000.parquet"]
    assert (counts / "notes.txt").read_text() == "of a person"


@pytest.mark.parametrize("change", ["beside", "in place", "no manifest"])
def test_answers_of_others_are_neither_deleted_nor_mixed_with(folder, change):
    counts = folder.home / "counts"
    assert folder.run().exit_code == 0
    if change == "beside":
        shutil.copy(folder.home / "requests" / "0.parquet", counts / "mine.parquet")
    elif change == "in place":
        shutil.copy(folder.home / "requests" / "0.parquet", counts / "part-00000.parquet")
    else:
        (counts / local_sink_manifest.NAME).unlink()
    before = contents(folder.home)
    ran = folder.run("sink.mode=overwrite")
    assert ran.exit_code == 1
    named = "mine.parquet" if change == "beside" else "part-00000.parquet"
    assert f"({named}): move them away, or choose another path" in ran.stderr
    assert contents(folder.home) == before


def test_a_copied_folder_is_still_replaced(folder):
    assert folder.run().exit_code == 0
    shutil.copytree(folder.home / "counts", folder.home / "copy", copy_function=shutil.copyfile)
    assert folder.run("sink.mode=overwrite", "sink.path=copy").exit_code == 0
    assert sorted(path.name for path in (folder.home / "copy").iterdir()) == ["_skyband.sha256", "part-00000.parquet"]


def test_the_manifest_is_what_sha256sum_checks(folder):
    for _ in range(2):
        assert folder.run("sink.mode=append").exit_code == 0
    checked = subprocess.run(
        ["sha256sum", "-c", local_sink_manifest.NAME], cwd=folder.home / "counts", capture_output=True
    )
    assert (checked.returncode, checked.stdout.count(b"OK")) == (0, 2)


def test_a_manifest_cannot_name_files_of_other_folders(folder):
    assert folder.run().exit_code == 0
    listed = folder.home / "counts" / local_sink_manifest.NAME
    digest = subprocess.run(["sha256sum", "job.toml"], cwd=folder.home, capture_output=True, text=True).stdout[:64]
    listed.write_text(listed.read_text() + f"{digest}  ../job.toml\n{digest}  {folder.job}\n{digest}  ..\n")
    assert folder.run("sink.mode=overwrite").exit_code == 0
    assert folder.job.exists()


@pytest.mark.parametrize("step", ["record", "forget_replaced"])
def test_a_crash_while_overwriting_loses_no_answers_and_the_next_run_replaces_them(folder, monkeypatch, step):
    assert folder.run().exit_code == 0
    before = contents(folder.home / "counts")
    done = getattr(local_sink_manifest, step)

    def crash(*arguments):
        done(*arguments) if step == "record" else None
        raise SystemError("as if killed")

    with monkeypatch.context() as patch:
        patch.setattr(local_sink_manifest, step, crash)
        assert folder.run("sink.mode=overwrite", "query.every=10 minutes").exit_code == 1
    left = folder.answers()
    assert len(left) == (24 if step == "record" else 12), "the old ones whole, or the new ones whole"
    assert before.keys() <= contents(folder.home / "counts").keys()
    assert folder.run("sink.mode=overwrite").exit_code == 0
    assert len(folder.answers()) == 24


def test_spark_overwrites_answers_and_nothing_else(folder):
    """Refused before Spark is started."""
    (folder.home / "counts").mkdir()
    (folder.home / "counts" / "notes.txt").write_text("of a person")
    ran = folder.run("sink.mode=overwrite", engine="spark")
    assert ran.exit_code == 1
    assert "are not answers, and Spark would delete them (notes.txt): move them away" in ran.stderr
