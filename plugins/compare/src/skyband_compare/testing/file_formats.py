"""The format of a file of rows, as its name ends."""

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
    """Raises ConfigError where nobody knows."""
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        message = f"a file of rows is named by its format, {', '.join(FORMATS)} (got {str(path)!r})"
        raise ConfigError(Problem("", message)) from None
