"""Several runs on one sink, killed runs, and links: no answer is lost or written elsewhere."""

import errno
import fcntl
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband_jobs.job.progress import Progress
from skyband_jobs.local import sink_manifest as local_sink_manifest
from skyband_jobs.local.sink import open_writer
from skyband_jobs.local.sink_manifest import foreign_files
from skyband_jobs.programs.engines import engine_named
from skyband_jobs.programs.parsing import JobError, read_job

SCHEMA = pa.schema([("number", pa.int64())])


def writer(folder, mode="append", format="parquet"):
    job = read_job(folder.job, [f"sink.mode={mode}", f"sink.format={format}"], "local")
    return open_writer(job, engine_named("local"), SCHEMA, Progress())


def rows(*numbers):
    return pa.table({"number": list(numbers)}, SCHEMA)


def numbers(folder):
    return sorted(pq.read_table(folder.home / "counts")["number"].to_pylist())


def is_whole(folder):
    """Whether every file of the sink is recorded unchanged, and nothing unfinished is left."""
    counts = folder.home / "counts"
    names = {path.name for path in counts.iterdir()} - {local_sink_manifest.NAME}
    return names == {path.name for path in local_sink_manifest.own_files(counts)}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_runs_that_append_at_once_keep_all_answers(folder, order):
    writers = [writer(folder) for _ in range(3)]
    for number, one in enumerate(writers):
        one.write(rows(number))
    for number in order:
        writers[number].commit()
    assert numbers(folder) == [0, 1, 2]
    assert is_whole(folder)


def test_runs_that_end_at_the_same_moment_keep_all_answers(folder):
    writers = [writer(folder) for _ in range(16)]
    for number, one in enumerate(writers):
        one.write(rows(number))
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda one: one.commit(), writers))
    assert numbers(folder) == list(range(16))
    assert is_whole(folder)


def test_a_file_that_somebody_put_there_meanwhile_is_passed_over(folder):
    one = writer(folder)
    one.write(rows(1))
    mine = folder.home / "counts" / "part-00000.parquet"
    pq.write_table(rows(7), mine)
    one.commit()
    assert numbers(folder) == [1, 7]
    assert pq.read_table(mine).equals(rows(7))


def test_files_that_no_reader_takes_for_answers_do_no_harm(folder):
    """Names that start with a dot or an underscore, and files of other formats, stay where a run overwrites."""
    there = folder.home / "counts"
    there.mkdir(exist_ok=True)
    others = {name: there / name for name in (".hidden.parquet", "_odd.parquet", "_SUCCESS")}
    for path in others.values():
        path.write_text("mine")
    assert foreign_files(there, ".parquet") == []
    for number in (1, 2):
        run = writer(folder, "overwrite")
        run.write(rows(number))
        run.commit()
        assert numbers(folder) == [number]
    assert all(path.read_text() == "mine" for path in others.values())
    (there / "notes.json").write_text("mine")
    (there / "of others.parquet").write_text("mine")
    assert foreign_files(there, ".parquet") == [there / "of others.parquet"]


def test_of_two_runs_that_overwrite_one_stays(folder):
    first, second = writer(folder, "overwrite"), writer(folder, "overwrite", "json")
    first.write(rows(1))
    second.write(rows(2))
    first.commit()
    second.commit()
    assert [path.name for path in (folder.home / "counts").glob("part-*")] == ["part-00000.json"]
    assert is_whole(folder)


def test_a_second_run_is_refused_if_answers_may_not_be_mixed(folder):
    first = writer(folder, "errorifexists")
    with pytest.raises(Exception, match="is being written to by another run"):
        writer(folder, "errorifexists")
    first.write(rows(1))
    writer(folder, "append").commit()
    with pytest.raises(Exception, match="now has rows of another run"):
        first.commit()
    first.abandon()
    assert is_whole(folder)


def test_ignore_leaves_what_another_run_wrote_meanwhile(folder, capfd):
    first = writer(folder, "ignore")
    second = writer(folder, "append")
    second.write(rows(2))
    first.write(rows(1))
    second.commit()
    first.commit()
    assert numbers(folder) == [2]
    assert "these were left out" in capfd.readouterr().err
    assert is_whole(folder)


KILLED = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from skyband_jobs.local import run as run_local
answers = run_local._answers
def dies(*arguments):
    yield next(answers(*arguments))
    os.kill(os.getpid(), signal.SIGKILL)
run_local._answers = dies
from skyband.cli import main
sys.argv = ["skyband", "run", sys.argv[1], "--engine", "local", *sys.argv[2:]]
main()
"""


@pytest.mark.parametrize("mode", ["errorifexists", "ignore", "overwrite", "append"])
def test_a_run_that_was_killed_can_be_run_again_as_it_is(folder, mode):
    call = [sys.executable, "-P", "-c", KILLED, str(folder.job), "--set", f"sink.mode={mode}"]
    assert subprocess.run(call, cwd=folder.home, capture_output=True).returncode == -9
    left = list((folder.home / "counts").iterdir())
    assert len(left) == 1
    assert not left[0].name.startswith("part-")
    ran = folder.run(f"sink.mode={mode}")
    assert ran.exit_code == 0, ran.stderr
    assert len(folder.answers()) == 24
    assert is_whole(folder)


@pytest.mark.parametrize("mode", ["errorifexists", "append"])
def test_leftovers_of_a_killed_run_block_no_other_on_a_file_system_without_locks(folder, mode, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    left = folder.home / "counts" / "_part.parquet.0123456789abcdef.partial"
    left.parent.mkdir()
    left.write_bytes(b"PAR1")
    ran = folder.run(f"sink.mode={mode}")
    assert ran.exit_code == 0, ran.stderr
    assert len(folder.answers()) == 24


@pytest.mark.parametrize("name", ["_part-00000.parquet.partial", "_skyband.sha256.partial", "part-00000.parquet"])
def test_a_link_in_the_sink_is_not_written_through(folder, name):
    """Partial files had predictable names."""
    victim = folder.home / "victim"
    victim.write_text("of a person")
    (folder.home / "counts").mkdir()
    (folder.home / "counts" / name).symlink_to(victim)
    assert folder.run("sink.mode=append").exit_code == 0
    assert victim.read_text() == "of a person"


def test_a_killed_runs_manifest_alone_is_no_answer(folder):
    assert folder.run().exit_code == 0
    (folder.home / "counts" / "part-00000.parquet").unlink()
    assert folder.run().exit_code == 0
    assert is_whole(folder)


def test_columns_that_differ_only_in_case_are_refused(folder):
    """Spark takes them for one, and could not read what was written."""
    table = pq.read_table(folder.home / "requests")
    for path in (folder.home / "requests").iterdir():
        path.unlink()
    pq.write_table(table.append_column("At", table["client"]), folder.home / "requests" / "0.parquet")
    for engine in ("local", "spark"):
        with pytest.raises(JobError, match="'At' and 'at' differ only in case"):
            read_job(folder.job, ["query.by=At"], engine)
    assert read_job(folder.job, ["query.by=At", "sink.format=console"], "local")
    assert read_job(folder.job, ["query.by=At", "spark.spark.sql.caseSensitive=true"], "spark")
