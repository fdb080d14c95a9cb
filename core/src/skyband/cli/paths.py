"""Folders that commands write into: one that exists or can be created. Checked before anything else happens."""

import os
import stat
from pathlib import Path
from typing import Any

import click


class FolderToWrite(click.Path):
    """An existing or new folder; a fifo, a device, a loop of links or a file on the way to it is reported as such."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        wrong = problem_of_folder(Path(value))
        if wrong is not None:
            self.fail(f"{os.fspath(value)!r:.300} {wrong}", param, ctx)
        return super().convert(value, param, ctx)


def problem_of_folder(path: Path) -> str | None:
    """Why a path is not a folder and cannot become one; None if it is a folder or can be created."""
    for place in (path, *path.parents):
        on_the_way = "" if place == path else f"{os.fspath(place)!r} "
        try:
            mode = place.stat().st_mode
        except FileNotFoundError:
            if not place.is_symlink():
                continue
            return f"is not a folder: {on_the_way}is a link to nothing"
        except (OSError, ValueError) as error:  # a loop of links, a long name, no permission, a NUL
            return f"is not a folder: {on_the_way}{getattr(error, 'strerror', None) or error}"
        return None if stat.S_ISDIR(mode) else f"is not a folder: {on_the_way}is {kind_of(mode)}"
    return None


def kind_of(mode: int) -> str:
    """The kind of a file, in words."""
    kinds = {stat.S_IFIFO: "a fifo", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return kinds.get(stat.S_IFMT(mode), "a file")
