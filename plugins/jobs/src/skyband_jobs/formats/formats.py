"""The installed formats, by name."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from attrs import evolve
from skyband.errors import ConfigError, EngineError, PluginError, Problem
from skyband.registry import installed
from skyband.registry.install_hints import FORMAT_FOLDERS, format_comes_with

from skyband_jobs.formats.batch_sink import BatchSink
from skyband_jobs.formats.installed_format import InstalledFormat, load
from skyband_jobs.formats.table_rows import TableRows


def names_of_formats(can: str | None = None) -> tuple[str, ...]:
    """The names of formats that plugins bring; with `can` ("reads", "writes", …), only those that declare it."""
    entries = installed().formats.listing
    return tuple(dict.fromkeys(entry.info.name for entry in entries if can is None or can in entry.info.can))


def format_named(name: str, distribution: str | None = None) -> InstalledFormat | None:
    """A format that a plugin brings; None where none does.

    Raises PluginError where it is not usable, or claimed twice and `distribution` does not choose one.
    """
    return _loaded(name, distribution) if name in names_of_formats() else None


@cache
def _loaded(name: str, distribution: str | None) -> InstalledFormat:
    return load(installed().formats.named(name, distribution))


def format_at(path: Path) -> str | None:
    """The format of the table at a path on this machine; None where no format recognizes it.

    Raises ConfigError where it has a format that is not installed.
    """
    for entry in installed().formats.listing:
        with suppress(PluginError, EngineError):  # a format that fails must not affect others
            if entry.problem is None and "reads" in entry.info.can and load(entry).is_at(path):
                return entry.info.name
    for folder, name in FORMAT_FOLDERS.items():
        if (path / folder).is_dir() and name not in names_of_formats():
            raise ConfigError(Problem("table", f"{str(path)!r} is a {name} table{format_comes_with(name)}"))
    return None


def open_sink(
    format: str,
    path: str,
    options: Mapping[str, Any] | None = None,
    *,
    distribution: str | None = None,
    key: Sequence[str] = (),
) -> BatchSink:
    """A function for `foreachBatch` that writes each micro-batch of a stream to a table once.

    Parameters
    ----------
    format : str
        one that an installed plugin brings, as jobs name it; skyband-lakes has four
    path : str
        where the table is: a folder, created if missing, or an address; for a format with a catalogue the name
        in it, such as "db.answers"; for a database its URL
    options : mapping, default None
        options of the format's library, such as `storage_options`, or the properties of the catalogue; for a database
        `table`, its name there
    distribution : str, default None
        the distribution of the format, if two installed ones have a format of this name
    key : sequence of str, default ()
        for a format that can "current": the sink takes a log, as from `answers = "changes"`, and its table holds the
        newest answers; these columns, including the grouping ones and the window, identify a row

    Its `append(answers)` writes an Arrow table outside a stream. Both raise ConfigError where the table cannot hold
    the answers, and EngineError where the library or the format is not installed.
    """
    bound = _required(format, distribution, "current" if key else "writes")
    return bound.write(evolve(bound.keys(path, options or {}), writes=True, key=tuple(key)))


def open_table(
    format: str, path: str, options: Mapping[str, Any] | None = None, *, distribution: str | None = None
) -> TableRows:
    """A table as it is now: its `schema`, and its rows by `batches(columns)` in commit order.

    The parameters are those of `open_sink`. Raises ConfigError where there is no such table, EngineError where its
    library or the format is not installed.
    """
    bound = _required(format, distribution, "reads")
    return bound.read(bound.keys(path, options or {}))


def _required(name: str, distribution: str | None, ability: str) -> InstalledFormat:
    bound = format_named(name, distribution)
    if bound is None:
        names = ", ".join(names_of_formats()) or "none"
        raise EngineError(f"no installed plugin has the format {name!r} (installed: {names}){format_comes_with(name)}")
    if ability not in bound.info.can and not (ability == "writes" and "streams" in bound.info.can):
        others = ", ".join(names_of_formats(ability)) or "none"
        does = "hold the newest answers" if ability == "current" else ability[:-1]
        raise EngineError(f"{bound.name} {' and '.join(bound.info.can)} only; installed formats that {does}: {others}")
    return bound
