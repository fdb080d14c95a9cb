"""Turns that are done again at a start, which may itself be killed or stopped."""

import shutil

import pytest
from skyband_serve import service

from .test_checkpoint import run, savepoints
from .test_kills import FOLDER, JOB, rows_in, whole


class KilledError(BaseException):
    """In place of a kill: nothing in the service handles it."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A job whose first five turns are written down and done, but in no savepoint; one more file waits."""
    monkeypatch.setattr(service, "_SHARE", 0)
    monkeypatch.setattr(service, "_AGAIN", 0)
    rows_in(tmp_path)
    (tmp_path / "job.toml").write_text(JOB.format(sink=FOLDER))
    hidden = [path.rename(path.with_name(f"_{path.name}")) for path in sorted((tmp_path / "in").iterdir())[10:]]
    run(tmp_path, "serve.commit=1 hour", "source.finish=false")
    for path in savepoints(tmp_path):
        shutil.rmtree(path)
    (tmp_path / "checkpoint" / "turns" / "000005.log").unlink()
    for path in hidden:
        path.rename(path.with_name(path.name[1:]))
    return tmp_path


@pytest.fixture
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    rows_in(folder)
    (folder / "job.toml").write_text(JOB.format(sink=FOLDER))
    run(folder)
    return whole(folder, "counts"), whole(folder, "late")


@pytest.mark.parametrize("turns", [2, 3])
def test_a_start_that_is_killed_after_some_turns_each_time_comes_to_its_end(folder, undisturbed, monkeypatch, turns):
    do, done = service.Service._do, 0

    def killed_after_some(self, turn):
        nonlocal done
        if done == turns:
            raise KilledError
        do(self, turn)
        done += 1

    monkeypatch.setattr(service.Service, "_do", killed_after_some)
    kills = 0
    while True:
        done = 0
        try:
            run(folder, "serve.commit=1 hour")
        except KilledError:
            kills += 1
            assert kills < 10, "it does the same turns again"
        else:
            break
    assert kills >= 2
    assert (whole(folder, "counts"), whole(folder, "late")) == undisturbed


def test_a_signal_stops_a_start_that_does_turns_again(folder, undisturbed, monkeypatch):
    do = service.Service._do

    def stopped_after_two(self, turn):
        do(self, turn)
        self.signals.stop = turn.number == 2

    monkeypatch.setattr(service.Service, "_do", stopped_after_two)
    run(folder, "serve.commit=1 hour")
    assert [path.name for path in savepoints(folder)] == ["000001", "000002"]
    monkeypatch.undo()
    run(folder)
    assert (whole(folder, "counts"), whole(folder, "late")) == undisturbed
