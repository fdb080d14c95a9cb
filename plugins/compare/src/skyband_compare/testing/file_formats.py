"""The format of a file of rows, by its suffix."""

from pathlib import Path

from skyband.errors import ConfigError, Problem

FORMATS = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}


def format_of(path: Path) -> str:
    """Raises ConfigError for an unknown suffix."""
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        message = f"the name of a file of rows must end in {', '.join(FORMATS)} (got {str(path)!r})"
        raise ConfigError(Problem("", message)) from None
