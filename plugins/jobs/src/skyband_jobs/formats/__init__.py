"""Tables and logs that answers are written to and rows are read from in this process, without a Spark connector.

Plugins bring formats with the hook `skyband_formats`; here is what they subclass.
"""

from importlib import import_module

from skyband.registry.install_hints import FUNCTIONS, format_comes_with

from skyband_jobs.formats.batch_sink import BatchSink
from skyband_jobs.formats.followed import Followed
from skyband_jobs.formats.format import Format, TableKeys
from skyband_jobs.formats.formats import format_at, format_named, names_of_formats, open_sink, open_table
from skyband_jobs.formats.installed_format import InstalledFormat
from skyband_jobs.formats.net_changes import NetChanges
from skyband_jobs.formats.table_rows import Refuse, TablePart, TableRows

__all__ = [
    "BatchSink",
    "Followed",
    "Format",
    "InstalledFormat",
    "NetChanges",
    "Refuse",
    "TableKeys",
    "TablePart",
    "TableRows",
    "format_at",
    "format_named",
    "names_of_formats",
    "open_sink",
    "open_table",
]


def __getattr__(name: str) -> object:
    """A function of a Skyband plugin, under the name that users know."""
    home = FUNCTIONS.get(f"{__name__}.{name}")
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        if (error.name or "") not in (home, home.partition(".")[0]):
            raise
        raise ImportError(f"{__name__}.{name}{format_comes_with(name.partition('_')[0])}") from error
