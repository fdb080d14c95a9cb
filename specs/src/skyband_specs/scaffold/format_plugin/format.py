"""format/mine: a table in one Arrow file, which also holds the last micro-batch of each stream."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import BatchSink, Format, TableKeys, TableRows

_NUMBERS = b"micro-batches"


class MineFormat(Format):
    """Reads and writes the file that `path` names."""

    def check(self, keys: TableKeys, on_spark: bool) -> list[Problem]:  # noqa: ARG002
        return [] if keys.path else [Problem("path", "is required: name the file")]

    def read(self, keys: TableKeys) -> TableRows:
        return MineRows(Path(keys.place))

    def write(self, keys: TableKeys) -> BatchSink:
        return MineSink(Path(keys.place))


class MineRows(TableRows):
    """The rows of the file as it is now."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ConfigError(Problem("path", f"there is no file {str(path)!r}: name one that exists"))
        self._table = _table_at(path)

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema.remove_metadata()

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(columns).replace_schema_metadata().to_batches()


class MineSink(BatchSink):
    """Replaces the file at each write: the rows and the number of the micro-batch appear together, or neither does."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def exists(self) -> bool:
        return self._path.is_file()

    def check(self, schema: pa.Schema) -> None:
        there = _table_at(self._path).schema.remove_metadata() if self.exists() else schema
        if there != schema:
            message = (
                f"the file has the columns {', '.join(map(str, there))}; the answers have {', '.join(map(str, schema))}"
            )
            raise ConfigError(Problem("path", f"{message}: choose another file"))

    def latest(self, stream: str) -> int | None:
        return self._numbers().get(stream)

    def write(self, answers: pa.Table, stream: str, batch: int) -> None:
        self._put(answers, {**self._numbers(), stream: batch})

    def append(self, answers: pa.Table, replace: bool = False) -> None:
        self._put(answers, self._numbers(), replace)

    def _numbers(self) -> dict[str, int]:
        """The last micro-batch of each stream."""
        metadata = _table_at(self._path).schema.metadata if self.exists() else None
        numbers: dict[str, int] = json.loads((metadata or {}).get(_NUMBERS, b"{}"))
        return numbers

    def _put(self, answers: pa.Table, numbers: dict[str, int], replace: bool = False) -> None:
        self.check(answers.schema)
        earlier = [_table_at(self._path).replace_schema_metadata()] if self.exists() and not replace else []
        table = pa.concat_tables([*earlier, answers]).replace_schema_metadata({_NUMBERS: json.dumps(numbers)})
        new = self._path.with_name(f"{self._path.name}.new")
        with pa.ipc.new_file(str(new), table.schema) as file:
            file.write_table(table)
        new.replace(self._path)


def _table_at(path: Path) -> pa.Table:
    with pa.ipc.open_file(str(path)) as file:
        return file.read_all()
