"""Rules in a file: CSV or Parquet with a rule in each row, or JSON with a list of rules."""

import json
from pathlib import Path
from typing import Any


def rules_in_file(path: Path) -> list[Any]:
    """The rules of a file, as tables of the keys that have a value. Raises ValueError if it cannot be read."""
    try:
        if path.suffix == ".json":
            rules = json.loads(path.read_text("utf-8"))
            if not isinstance(rules, list):
                raise ValueError("it must be a list of rules, [{...}, {...}]")
            return rules
        rows = _table(path).to_pylist()
    except (OSError, ValueError) as error:  # Arrow's errors are ValueErrors, and so are those of JSON
        raise ValueError(f"the rules in {str(path)!r} cannot be read: {error}") from error
    return [{key: _whole(value) for key, value in row.items() if value is not None} for row in rows]


def _whole(value: Any) -> Any:
    """A number of a column of floats: a whole one is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _table(path: Path) -> Any:
    if path.suffix == ".parquet":
        import pyarrow.parquet as parquet

        return parquet.read_table(path)
    import pyarrow as pa

    numbers = {"at_least": pa.float64(), "below": pa.int64(), "least": pa.int64()}
    from pyarrow import csv

    names = csv.open_csv(path).schema.names
    types = {name: numbers.get(name, pa.string()) for name in names}
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=True))
