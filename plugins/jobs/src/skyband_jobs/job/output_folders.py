"""Output folders of a run: finds what prevents creating them, before anything is computed."""

import os
from pathlib import Path

from skyband.errors import Problem

from skyband_jobs.tables.model import Sink, local_path


def folder_problem(key: str, path: str) -> Problem | None:
    """Why no folder can be created at a path of this machine; None if it can, or the path is elsewhere."""
    folder = local_path(path)
    if folder is None:
        return None
    first = next((place for place in (folder, *folder.parents) if place.exists() or place.is_symlink()), None)
    if first is None or first.is_dir():
        return None
    what = f"{path!r} is" if first == folder else f"{path!r} is below {str(first)!r}, which is"
    return Problem(key, f"{what} {_kind(first)}: name a folder")


def permission_problems(sink: Sink) -> list[Problem]:
    """Which of the places of a sink on this machine, its answers and its checkpoint, this user cannot write to.

    A run asks this, and no check: a job may be checked by another user, and on another machine.
    """
    problems = []
    for key, path in (("sink.path", sink.path), ("sink.checkpoint", sink.checkpoint)):
        place = None if path is None else local_path(path)
        first = next((one for one in (place, *place.parents) if os.path.lexists(one)), None) if place else None
        access = os.W_OK | os.X_OK if first is not None and first.is_dir() else os.W_OK
        if first is not None and not os.access(first, access, effective_ids=os.access in os.supports_effective_ids):
            message = f"{path!r} cannot be written: this user has no permission to write to {str(first)!r}"
            problems.append(Problem(key, f"{message}: change its permissions, or name another place"))
    return problems


def output_problems(sink: Sink) -> list[Problem]:
    """The same for the folder of a sink's answers, if it writes files, and of a stream's checkpoint."""
    folders = {"sink.path": sink.path if sink.of_files else None, "sink.checkpoint": sink.checkpoint}
    problems = (folder_problem(key, path) for key, path in folders.items() if path is not None)
    return [problem for problem in problems if problem is not None]


def _kind(place: Path) -> str:
    if place.is_file():
        return "a file"
    return "a broken link" if place.is_symlink() and not place.exists() else "a device, a pipe or a socket"
