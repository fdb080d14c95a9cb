"""A service whose machine loses its power at any step: the sink has each answer once."""

import shutil

import pytest
from power_loss import recorded
from skyband_serve import service

from .test_checkpoint import run
from .test_kills import FOLDER, JOB, rows_in, whole


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the job in it, and nothing else that is written to while it runs; savepoints as often as turns."""
    monkeypatch.setattr(service, "_SHARE", 0)
    home = tmp_path / "home"
    home.mkdir()
    rows_in(home, files=6, rows=240)
    (home / "job.toml").write_text(JOB.format(sink=FOLDER))
    return home


def restored(folder, moment):
    """Give the folder the contents of a moment."""
    shutil.rmtree(folder)
    shutil.copytree(moment, folder)


@pytest.mark.parametrize(
    ("commit", "every"),
    [("1 hour", 3), ("1 microsecond", 9), pytest.param("1 microsecond", 1, marks=pytest.mark.slow)],
)
def test_after_a_loss_of_power_each_answer_is_there_once(folder, tmp_path, monkeypatch, commit, every):
    with recorded(folder, tmp_path / "copies", monkeypatch, loses_names=True) as disk:
        run(folder, f"serve.commit={commit}")
    counts, late = whole(folder, "counts"), whole(folder, "late")
    assert len(counts) > 20 and len(late) > 2 and len(disk.moments) > 40
    for moment in [*disk.moments[:12], *disk.moments[12::every]]:
        restored(folder, moment)
        run(folder)
        assert (whole(folder, "counts"), whole(folder, "late")) == (counts, late), moment.name
