"""Folders that commands write into: one that is there, or can be made. Told before anything else is done."""

import os
import stat
from pathlib import Path
from typing import Any

import click


class FolderToWrite(click.Path):
    """A folder, there or not yet; a fifo, a device, a loop of links or a file on the way to it is told as such."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        wrong = problem_of_folder(Path(value))
        if wrong is not None:
            self.fail(f"{os.fspath(value)!r:.300} {wrong}", param, ctx)
        return super().convert(value, param, ctx)


def problem_of_folder(path: Path) -> str | None:
    """Why a path is no folder and none can be made there; None where it is one or the way to it is free."""
    for place in (path, *path.parents):
        on_the_way = "" if place == path else f"{os.fspath(place)!r} "
        try:
            mode = place.stat().st_mode
        except FileNotFoundError:
            if not place.is_symlink():
                continue
            return f"is no folder: {on_the_way}is a link that leads nowhere"
        except (OSError, ValueError) as error:  # a loop of links, a name that is too long, no permission; a NUL
            return f"is no folder: {on_the_way}{getattr(error, 'strerror', None) or error}"
        return None if stat.S_ISDIR(mode) else f"is no folder: {on_the_way}is {kind_of(mode)}"
    return None


def kind_of(mode: int) -> str:
    """What a file is, in words."""
    kinds = {stat.S_IFIFO: "a fifo", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return kinds.get(stat.S_IFMT(mode), "a file")
