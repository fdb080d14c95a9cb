"""A checkpoint that is damaged, foreign or in use: an older savepoint is used, or an error says what to do."""

import os
import resource
import shutil
import signal
from contextlib import contextmanager
from io import StringIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband.errors import EngineError, InputError, SkybandError, SnapshotError
from skyband_jobs import JobError, run_job
from skyband_jobs.job.progress import Progress
from skyband_jobs.running.stream_lock import in_use
from skyband_serve import service
from skyband_serve.checkpoint import Checkpoint
from skyband_serve.turns import Turn, TurnLog, turns_in

from .test_kills import FOLDER, JOB, KILLER, OFTEN, TO_THE_END, rows_in, whole
from .test_kills import service as start

ARGUMENTS = [text for text in (*TO_THE_END, *OFTEN) if text != "--set"]


def run(folder, *sets, savepoint=None):
    """Run the job of a folder to its end; returns what it said."""
    out = StringIO()
    run_job(folder / "job.toml", [*ARGUMENTS, *sets], "serve", Progress(out), savepoint)
    return out.getvalue()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder in which the job ran to its end, with a savepoint after each turn."""
    folder = tmp_path_factory.mktemp("finished")
    rows_in(folder)
    (folder / "job.toml").write_text(JOB.format(sink=FOLDER))
    share, service._SHARE = service._SHARE, 0
    run(folder)
    service._SHARE = share
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of that folder without the answers of the last turns, as a kill may leave it."""
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    (copy / "job.toml").write_text(JOB.format(sink=FOLDER).replace('path = "in"', f'path = "{finished / "in"}"'))
    record = copy / "checkpoint" / "skyband-job.json"
    record.write_text(record.read_text().replace(str(copy), str(finished)))
    parts = sorted((copy / "counts").glob("part-*"))
    for path in parts[-2:]:
        path.unlink()
    return copy


def savepoints(folder):
    return sorted(path for path in (folder / "checkpoint").iterdir() if path.name.isdigit())


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def whole_states(folder):
    return [next((path / "states").iterdir()) for path in savepoints(folder)]


def test_a_damaged_savepoint_is_passed_over_for_the_one_before(folder, finished):
    damage(whole_states(folder)[-1])
    assert "warning: " in (said := run(folder)) and "the one before it is used, with the turns since" in said
    assert whole(folder, "counts")[-1] == whole(finished, "counts")[-1]
    missing = len(list((finished / "counts").glob("part-*"))) - len(list((folder / "counts").glob("part-*")))
    assert missing <= 1, "the turn after the savepoint was done again"


def test_a_damaged_savepoint_is_made_again_where_nothing_comes_after_it(folder):
    last = whole_states(folder)[-1]
    whole_before = last.read_bytes()
    damage(last)
    run(folder, "source.finish=false")
    assert last.read_bytes() == whole_before and len(savepoints(folder)) == 2
    assert "warning" not in run(folder, "source.finish=false")


@pytest.mark.parametrize("name", ["states/00000.skyband", "savepoint.json", "source"])
def test_where_both_are_damaged_nothing_starts(folder, name):
    before = sorted(path.name for path in (folder / "counts").iterdir())
    for path in savepoints(folder):
        target = path / name
        if target.is_dir():
            next(target.iterdir()).write_text("v1\nno json")
        else:
            target.write_bytes(target.read_bytes()[:-20])
    with pytest.raises(SnapshotError, match="damaged"):
        run(folder)
    assert sorted(path.name for path in (folder / "counts").iterdir()) == before


@pytest.mark.parametrize("change", [lambda line: line.replace(b"7", b"8"), lambda _: b"", lambda line: line + line])
def test_a_damaged_turn_before_the_last_is_an_error(tmp_path, change):
    log = TurnLog(tmp_path / "000000.log")
    for number in (1, 2, 3):
        log.append(Turn(number, rows=[7]))
    log.close()
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(lines[0] + change(lines[1]) + lines[2])
    with pytest.raises(SnapshotError, match=r"damaged: line \d of .* is not the next turn: restore it"):
        turns_in(log.path)


def test_each_log_says_which_job_began_its_turns(finished):
    """A savepoint after each turn begins a log, and the older logs may be gone when turns are done again."""
    logs = [turns_in(path) for path in (finished / "checkpoint" / "turns").iterdir()]
    noted = [turns[0].job for turns in logs if turns]
    assert noted and None not in noted


def test_a_second_process_is_refused(folder):
    with in_use(folder / "checkpoint"), pytest.raises(EngineError, match="is in use: a stream is running on it"):
        run(folder)


def test_a_file_that_has_changed_since_it_was_taken_is_an_error(folder, monkeypatch):
    monkeypatch.setattr(service, "_SHARE", 10**9)  # a savepoint after the first turn and the last, at any pace
    shutil.copytree(folder / "in", folder / "own")
    (folder / "job.toml").write_text(JOB.format(sink=FOLDER).replace('path = "in"', 'path = "own"'))
    shutil.rmtree(folder / "checkpoint")
    shutil.rmtree(folder / "counts")
    shutil.rmtree(folder / "late")
    run(folder)
    damage(whole_states(folder)[-1])
    last = sorted((folder / "own").iterdir())[-1]
    os.utime(last, (1, 1))
    with pytest.raises(EngineError, match=rf"{last.name}' has changed since the stream took it: files must stay"):
        run(folder)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (["source.where=status = 200"], "source.where: was nothing when the checkpoint was created"),
        (["sink.format=json"], "sink.format: was 'parquet' when the checkpoint was created"),
        (["sink.path=elsewhere/counts", "sink.checkpoint=new"], "late.* has the answers of another stream"),
        (["source.stream=false"], "source.stream: must be true: skyband serve runs streams"),
        (["-sink.checkpoint"], "sink.checkpoint: is required"),
        (["query.item=status"], "the savepoint is of another job .*query.item was client"),
        (["backends.sketch=k-skb"], "backends.sketch was .*pcsa-ml.* is .*k-skb"),
        (["query.delay=5 seconds", "query.by=[]"], "the savepoint is of another job .*query.by was"),
    ],
)
def test_a_job_that_must_not_resume_is_refused_by_its_key(folder, sets, message):
    before = sorted(path.name for path in (folder / "counts").iterdir())
    with pytest.raises((JobError, SnapshotError), match=message):
        run(folder, *sets)
    assert sorted(path.name for path in (folder / "counts").iterdir()) == before


@pytest.mark.parametrize("content", ["[]", '{"id": 7}', "{}", "no json"])
def test_a_damaged_stream_id_is_an_error(folder, content):
    (folder / "checkpoint" / "skyband-stream.json").write_text(content)
    with pytest.raises(SnapshotError, match=r"damaged: .*skyband-stream.json'.*[:;] restore it from a backup"):
        run(folder)


def test_a_stream_id_that_is_gone_is_an_error(folder):
    (folder / "checkpoint" / "skyband-stream.json").unlink()
    with pytest.raises(SnapshotError, match=r"skyband-stream.json' is gone: restore it from a backup"):
        run(folder)


@contextmanager
def room_for(size):
    """Let no file grow beyond a size, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("room", [60, 90, 100])
def test_a_turn_that_the_disk_has_no_room_for_is_not_written_down(tmp_path, room):
    log = TurnLog(tmp_path / "000000.log")
    log.append(Turn(1, rows=["a"]))
    with room_for(room), pytest.raises(OSError, match=r"No space|too large"):
        log.append(Turn(2, rows=["a" * 100]))
    assert turns_in(log.path) == [Turn(1, rows=["a"])]
    log.append(Turn(2, rows=["b"]))
    log.close()
    assert turns_in(log.path)[1:] == [Turn(2, rows=["b"])]


@pytest.mark.parametrize("room", [200, 400, 1_500])
def test_a_full_disk_is_an_error_and_the_next_start_resumes(tmp_path, finished, room):
    rows_in(tmp_path)
    (tmp_path / "job.toml").write_text(JOB.format(sink=FOLDER))
    with room_for(room), pytest.raises(SkybandError, match=r"cannot be written: (File too large|No space)"):
        run(tmp_path)
    run(tmp_path)
    assert (whole(tmp_path, "counts"), whole(tmp_path, "late")) == (whole(finished, "counts"), whole(finished, "late"))


def test_turns_after_a_savepoint_whose_log_was_not_begun_are_found(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.begin()
    for number in range(1, 6):
        checkpoint.intend(Turn(number, rows=[number]))
        if number == 3:
            checkpoint.place_of(3).mkdir()  # and then it was killed
    checkpoint.close()
    starts = {path and path.name: [turn.number for turn in turns] for path, turns in Checkpoint(tmp_path).starts()}
    assert starts == {"000003": [4, 5], None: [1, 2, 3, 4, 5]}


def test_a_fallback_keeps_its_turns_though_a_kill_left_no_log_for_it(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.begin()
    for number in range(1, 6):
        checkpoint.intend(Turn(number, rows=[number]))
        if number == 3:
            checkpoint.place_of(3).mkdir()  # and then it was killed
    checkpoint.place_of(5).mkdir()
    checkpoint.saved(5)
    checkpoint.close()
    starts = {path and path.name: [turn.number for turn in turns] for path, turns in Checkpoint(tmp_path).starts()}
    assert starts == {"000005": [], "000003": [4, 5], None: [1, 2, 3, 4, 5]}


@pytest.mark.parametrize("last", range(1, 6))
def test_an_older_savepoint_without_all_turns_since_is_an_error(tmp_path, last):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.begin()
    for number in range(1, last + 1):
        checkpoint.intend(Turn(number, rows=[number]))
    checkpoint.close()
    for number in (1, 4):
        checkpoint.place_of(number).mkdir()
    starts = Checkpoint(tmp_path).starts()
    assert [turn.number for turn in next(starts)[1]] == [*range(5, last + 1)]
    if last >= 4:
        assert [turn.number for turn in next(starts)[1]] == [*range(2, last + 1)]
        return
    with pytest.raises(SnapshotError, match=f"damaged: the turns after {last} are gone, up to turn 4"):
        next(starts)


def test_a_new_stream_takes_no_folder_of_others_for_a_savepoint(tmp_path):
    rows_in(tmp_path)
    (tmp_path / "job.toml").write_text(JOB.format(sink=FOLDER))
    others = [tmp_path / "checkpoint" / name for name in ("2024", "202511", "²")]
    for path in others:
        path.mkdir(parents=True)
    with pytest.raises(JobError, match=r"sink.checkpoint: .* has a folder '202511', which this stream did not write"):
        run(tmp_path)
    others[1].rmdir()
    run(tmp_path)
    assert others[0].is_dir() and others[2].is_dir()


def test_a_start_removes_what_a_kill_left_unfinished(folder):
    checkpoint = folder / "checkpoint"
    left = [checkpoint / ".parts" / "rows", checkpoint / f".000123.{'0a' * 16}.partial" / "states"]
    for path in left:
        path.mkdir(parents=True)
    part = folder / "counts" / f"_part-0000000099.parquet.{'0a' * 8}.partial"
    part.touch()
    run(folder)
    assert not any(path.parent.exists() for path in left) and not part.exists()


def test_a_start_without_a_savepoint_does_not_take_one_that_a_killed_start_copied(tmp_path, folder):
    checkpoint = Checkpoint(tmp_path)
    shutil.copytree(savepoints(folder)[-1], checkpoint.place_of(0))
    checkpoint.begin()
    assert [path for path, _ in checkpoint.starts()] == [None]


def test_a_savepoint_without_a_log_of_its_own_is_made_once(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Checkpoint, "saved", full)
    monkeypatch.setattr(service, "_SHARE", 0)
    rows_in(tmp_path)
    (tmp_path / "job.toml").write_text(JOB.format(sink=FOLDER))
    assert "warning: no savepoint after turn 6: No space" in run(tmp_path, "source.finish=false")
    monkeypatch.undo()
    assert [path.name for path in savepoints(tmp_path)][-1] == "000006" and "warning" not in run(tmp_path)


@pytest.mark.parametrize(
    "sink", [FOLDER, 'format = "sql"\nurl = "sqlite:///{folder}/board.db"\ntable = "counts"'], ids=["folder", "sql"]
)
def test_an_older_copy_of_a_checkpoint_is_refused_where_the_sink_is_ahead(tmp_path, sink):
    rows_in(tmp_path)
    (tmp_path / "job.toml").write_text(JOB.format(sink=sink.format(folder=tmp_path)))
    later = sorted((tmp_path / "in").iterdir())[6:]
    hidden = [path.rename(path.with_name(f"_{path.name}")) for path in later]
    run(tmp_path, "source.finish=false")
    shutil.copytree(tmp_path / "checkpoint", tmp_path / "copy")
    for path in hidden:
        path.rename(path.with_name(path.name[1:]))
    run(tmp_path)
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.copytree(tmp_path / "copy", tmp_path / "checkpoint")
    with pytest.raises(
        SnapshotError, match=r"a sink has turn 7, but the checkpoint .* ends with 3: it is an older copy"
    ):
        run(tmp_path)


def test_a_job_that_changed_after_a_kill_does_not_do_its_turns_again(tmp_path, finished):
    rows_in(tmp_path)
    (tmp_path / "job.toml").write_text(JOB.format(sink=FOLDER))
    killed = start(tmp_path, "-c", KILLER, "9", *TO_THE_END)
    assert killed.returncode == -signal.SIGKILL and whole(tmp_path, "counts")
    changed = 'query.windows=["1 minute", "30 seconds"]'
    with pytest.raises(JobError, match=r"query.windows: was .* for micro-batches that are done again after a kill"):
        run(tmp_path, changed)
    run(tmp_path)
    assert (whole(tmp_path, "counts"), whole(tmp_path, "late")) == (whole(finished, "counts"), whole(finished, "late"))
    run(tmp_path, changed)


def test_bad_rows_may_be_allowed_where_one_ended_a_turn(tmp_path):
    rows_in(tmp_path)
    (tmp_path / "job.toml").write_text(JOB.format(sink=FOLDER))
    path = tmp_path / "in" / "007.parquet"
    times, rows = path.stat().st_mtime, pq.read_table(path)
    pq.write_table(rows.set_column(2, "status", pa.array([500] * len(rows))), path)
    os.utime(path, (times, times))
    sources = ["query.source=status", "query.sources=[200, 404]"]
    with pytest.raises(InputError, match="500"):
        run(tmp_path, *sources, "query.bad_rows=fail")
    assert "120" in run(tmp_path, *sources, "query.bad_rows=count")


def test_a_savepoint_of_another_source_is_refused(folder):
    saved = savepoints(folder)[-1]
    with pytest.raises(JobError, match=r"source.where: was nothing when the savepoint was made"):
        run(folder, "source.where=status = 200", "sink.path=new", "sink.checkpoint=new too", savepoint=saved)
