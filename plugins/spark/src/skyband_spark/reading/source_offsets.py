"""Where a source stands, as a StreamingQueryProgress says it: JSON, which PySpark before 4.2 gave in Python's words."""

import json
from ast import literal_eval
from typing import Any


def parse_offset(offset: str | None) -> Any:
    """An offset as a value; None of the first, which has none. Raises ValueError of one that is neither."""
    if not offset or offset == "None":
        return None
    try:
        return json.loads(offset)
    except ValueError:
        try:
            return literal_eval(offset)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"the offset {offset!r} is no JSON") from error


def log_entry(offset: str | None) -> int:
    """The number of an entry in the log of a source of files; -1 before the first."""
    parsed = parse_offset(offset)
    return -1 if parsed is None else int(parsed["logOffset"])
