"""Resident memory of processes."""

import os
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(pid: int) -> float:
    """MB of a process; 0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6
    except OSError:
        return 0.0


def below(pid: int) -> list[int]:
    """All descendants of a process."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            found += [child, *below(child)]
    return found
