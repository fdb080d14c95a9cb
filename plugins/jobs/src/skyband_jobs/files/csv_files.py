"""CSV files read with Arrow, block by block, by the names in the header if there is one."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from attrs import define, field
from skyband.columns.arrow_normalization import no_rows
from skyband.errors import InputError

from skyband_jobs.files.csv_dialect import Dialect
from skyband_jobs.files.refused_rows import RefusedRows, middle_line
from skyband_jobs.files.text_blocks import MARK, Block, ByteRange, blocks, is_utf8, without_lines
from skyband_jobs.files.text_values import as_read, typed, typed_where_right
from skyband_jobs.files.utf8 import check_utf8, refuse_bytes
from skyband_jobs.kernels.record_boundaries import csv_records
from skyband_jobs.tables.spark_ddl import ZONE

_ROW = re.compile(r"CSV parse error: Row #(\d+): ")
_ALL = 1 << 62
_FOR_THREADS = 1 << 16
"""Bytes worth a thread."""
_NO_COMMENTS = np.empty(0, np.int64)
_names: dict[tuple[Dialect, bytes], list[str]] = {}
"""The columns by the first record of the last file, because a folder's files start alike."""
_HEADER = "; if the first line names the columns, set source.options = { header = true }"


@define
class CsvFile:
    """One file, in a dialect."""

    path: Path
    dialect: Dialect
    within: ByteRange | None = None
    """The bytes to read, without the header; None: all."""
    refused: RefusedRows | None = None
    """Takes records that cannot be read; None: the first one ends the reading."""
    _names: list[str] | None = None
    _as_text: bool = field(default=False, init=False)
    """Whether Arrow could not read a value as its type, so that all are read as text and cast here."""
    _is_broken: bool = field(default=False, init=False)
    """Whether the last block ends with a record cut by a line break, which this dialect does not allow."""

    @property
    def names(self) -> list[str]:
        """The columns, `_c0`, `_c1`, … without a header; none for an empty file."""
        if self._names is None:
            datas = (block.data for block in self._blocks(1 << 16))
            self._take_names(next((data for data in datas if self._without_comments(data).strip(b"\r\n")), b""))
        assert self._names is not None
        return self._names

    def rows_of(self, text: bytes) -> bytes | None:
        """All of its text, which starts with the header, in whole lines without the header; None if the file
        must be read on its own."""
        text = without_lines(text, self.dialect.skipped)
        text = self._ended(text)
        end = self._take_names(text if text.strip(b"\r\n") else b"")
        if self._is_quoted(text):
            last, _, opened = self._scan(text, _ALL)
            if opened >= 0 or last < len(text):  # what follows would belong to its last record
                return None
        return text[end:] if self.dialect.header else text

    def _ended(self, text: bytes) -> bytes:
        """Text that ends with a line break. An escape at its end precedes nothing: it is a character."""
        if text.endswith((b"\n", b"\r")):
            return text
        mark = b"" if self.dialect.escape == self.dialect.quote else self.dialect.escape.encode()
        is_open = bool(mark) and (len(text) - len(text.rstrip(mark))) % 2 == 1
        return text + (mark + b"\n" if is_open else b"\n")

    def _take_names(self, data: bytes) -> int:
        """Take the names from the first record of data; returns its end."""
        end = self.end_of(data, 1)
        record = self._without_comments(data[:end]).strip(b"\r\n")
        if (self.dialect, record) not in _names:
            _names.clear()
            _names[self.dialect, record] = self._names_in(record)
        self._names = _names[self.dialect, record]
        return end

    def _names_in(self, record: bytes) -> list[str]:
        if self.dialect.header or self._is_quoted(record) or not is_utf8(record):
            texts = self.texts_of(record) if record else []
        else:  # only their number matters, and this is cheaper than parsing
            texts = [""] * len(record.split(self.dialect.separator.encode())) if record else []
        named = texts if self.dialect.header else [""] * len(texts)
        return [name or f"_c{place}" for place, name in enumerate(named)]

    def records(self, size: int | None = None) -> Iterator[Block]:
        """The file without the header."""
        names_come = self.dialect.header and (self.within is None or self.within.begin == 0)
        for block in self._blocks(size, self.within):
            if names_come:
                end, records, _ = self._scan(block.data, 1)
                end, names_come = (end, False) if records else (len(block.data), True)
                line = block.line + block.data.count(b"\n", 0, end)
                block = Block(block.data[end:], line, block.is_first, block.is_cut, block.range)
            if self._without_comments(block.data).strip(b"\r\n"):
                yield block

    def ends(self, size: int) -> Iterator[int]:
        """The offset of the end of each of its blocks, where a record ends. Raises InputError."""
        with self.path.open("rb") as file:
            end = len(MARK) if file.read(len(MARK)) == MARK else 0
        for block in self._blocks(size):
            end += len(block.data)
            yield end

    def end_of(self, data: bytes, records: int) -> int:
        """The end of the first records of a text."""
        end, count, _ = self._scan(data, records)
        return end if count == records else len(data)

    def middle(self, data: bytes) -> int | None:
        """The end of a record near the middle of a text; None for a single record or a broken one."""
        if not self._is_quoted(data) and not self.dialect.comment:
            return middle_line(data)
        whole = data if data.endswith(b"\n") else data + b"\n"
        end, records, opened = self._scan(whole, _ALL)
        if opened >= 0 and records == 0:
            end = data.find(b"\n", opened) + 1
        elif opened < 0:
            end = self.end_of(whole, records // 2) if records > 1 else 0
        return end if 0 < end < len(data) else None

    def places(self, wanted: Sequence[str], schema: pa.Schema) -> list[int]:
        """The place of each column in this file. Raises InputError if its first line differs from the schema."""
        names = self.names
        if not self.dialect.header or self.dialect.by_position:
            if len(names) != len(schema):
                columns = "1 column" if len(names) == 1 else f"{len(names)} columns"
                message = f"its first line has {columns}, the schema {len(schema)} ({', '.join(schema.names)})"
                raise InputError(str(self.path), f"{message}: fix the file, or change the schema")
            names = schema.names
        at = {name: place for place, name in enumerate(names)}
        missing = [name for name in wanted if name not in at]
        twice = [name for name in wanted if len(at) < len(names) and names.count(name) > 1]
        if missing:
            message = f"line 1 does not name the column {missing[0]!r} (it names {', '.join(names[:20])})"
            remedy = "use the same names, or read columns by their order with source.options = { enforceSchema = true }"
            raise InputError(str(self.path), f"{message}: {remedy}")
        if twice:
            raise InputError(str(self.path), f"line 1 names two columns {twice[0]!r}: rename one")
        return [at[name] for name in wanted]

    def inferred(self) -> pa.Schema:
        """The types that the values of the first block suggest."""
        for block in self.records():
            table = self._parse(block, None, range(len(self.names)))
            return pa.schema([(name, _kind(kind)) for name, kind in zip(self.names, table.schema.types, strict=True)])
        return pa.schema([(name, pa.string()) for name in self.names])

    def bounds(self, data: bytes, rows: Sequence[int]) -> list[tuple[int, int]]:
        """The starts and ends of the records with these ascending numbers, with the comment lines before each.

        O(bytes).
        """
        text, *marks = self._marked(data)
        bounds, end, number = list[tuple[int, int]](), 0, 0
        for row in rows:
            for most in filter(None, (row - number, 1)):
                begin = end
                length, records, _ = csv_records(text[begin:], *marks, self.dialect.multi_line, most, _NO_COMMENTS)
                end = begin + int(length) if records == most else len(data)
            number = row + 1
            bounds.append((begin, end))
        return bounds

    def parsed(self, block: Block, columns: pa.Schema, places: Sequence[int]) -> pa.RecordBatch:
        """A block's rows. Raises InputError with the line or row that cannot be read."""
        return self.parsed_where_right(block, columns, places)[0]

    def parsed_where_right(
        self, block: Block, columns: pa.Schema, places: Sequence[int]
    ) -> tuple[pa.RecordBatch, list[InputError]]:
        """A block's good rows, and the error of each other, by its place among all, if `refused` takes those.

        Raises InputError with the line or row that cannot be read.
        """
        if self._may_be_broken and self._is_quoted(block.data):
            _, _, opened = self._scan(block.data, _ALL)
            if opened >= 0:
                raise self._unclosed(block, opened)
        if not self._as_text:
            try:
                texts = self._texts(block, columns, places, self._kinds(columns))
                if not _is_doubtful(texts, block.data):
                    return self._where_right(block, texts, columns)
            except pa.ArrowInvalid as error:
                if "parse error" in str(error):
                    raise self._not_read(block, error) from error
                self._as_text = True
        try:
            return self._where_right(block, self._texts(block, columns, places, [pa.string()] * len(columns)), columns)
        except pa.ArrowInvalid as error:
            raise self._not_read(block, error) from error

    def _where_right(
        self, block: Block, texts: pa.RecordBatch, columns: pa.Schema
    ) -> tuple[pa.RecordBatch, list[InputError]]:
        try:
            return self._of_types(block, texts, columns), []
        except InputError:
            if self.refused is None:
                raise
        return typed_where_right(texts, columns, self.dialect.formats)

    def parsed_as_read(self, data: bytes, fields: pa.Schema, places: Sequence[int]) -> pa.RecordBatch:
        """The rows of data. Raises InputError or ArrowInvalid if Arrow cannot read a value as its type."""
        batch = self._typed(Block(data, 1, False), fields, places, self._kinds(fields))
        if _is_doubtful(batch, data):
            raise pa.ArrowInvalid("a number may be written in a way that only Arrow reads")
        return batch

    def _kinds(self, columns: pa.Schema) -> list[Any]:
        return [as_read(kind, self.dialect.formats) for kind in columns.types]

    def texts_of(self, record: bytes) -> list[str]:
        """The values of one record."""
        count = len(self._parse(Block(record, 1), None, None).columns)
        values = self._parse(Block(record, 1), [pa.string()] * count, range(count)).to_pylist()
        return [text or "" for row in values[:1] for text in row.values()]

    def _typed(self, block: Block, columns: pa.Schema, places: Sequence[int], kinds: list[Any]) -> pa.RecordBatch:
        return self._of_types(block, self._texts(block, columns, places, kinds), columns)

    def _texts(self, block: Block, columns: pa.Schema, places: Sequence[int], kinds: list[Any]) -> pa.RecordBatch:
        table = self._parse(block, kinds, places).rename_columns(columns.names)
        batches = table.combine_chunks().to_batches()  # none of a piece of blank lines
        return batches[0] if batches else no_rows(table.schema)

    def _of_types(self, block: Block, batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
        try:
            return typed(batch, columns, self.dialect.formats)
        except InputError as error:
            hint = _HEADER if block.is_first and error.row == 0 and not self.dialect.header else ""
            raise InputError(error.argument, error.message + hint, error.row) from error

    def _parse(
        self, block: Block, kinds: list[Any] | None, places: Sequence[int] | None, threads: bool = True
    ) -> pa.Table:
        data = self._without_comments(block.data)
        data = self._ended(data)
        separator = chr(self.dialect.separator_in(data))
        data = self.dialect.separated(data)
        quote, escape = (chr(mark) if mark < 128 else False for mark in self.dialect.quoting)
        names = [] if places is None else [str(place) for place in range(max(len(self._names or ()), len(places)))]
        place_names = [] if places is None else [str(place) for place in places]
        options = (
            pyarrow.csv.ReadOptions(
                column_names=names,
                autogenerate_column_names=not names,
                block_size=len(data) + 1,
                use_threads=threads and len(data) > _FOR_THREADS,
            ),
            pyarrow.csv.ParseOptions(
                delimiter=separator, quote_char=quote, escape_char=escape, newlines_in_values=self.dialect.multi_line
            ),
            pyarrow.csv.ConvertOptions(
                column_types=None if kinds is None else dict(zip(place_names, kinds, strict=True)),
                include_columns=place_names,
                null_values=["", self.dialect.null],
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        try:
            table = pyarrow.csv.read_csv(pa.BufferReader(data), *options)
            return table if separator in self.dialect.separator else _restored(table, separator, self.dialect.separator)
        except pa.ArrowInvalid as error:
            if "UTF8" in str(error):
                # Arrow names a column of a block that it cannot read, not its place in the file.
                refuse_bytes(self.path, block, self.refused is None, self.dialect.encoding)
            raise

    def _not_read(self, block: Block, error: pa.ArrowInvalid) -> InputError:
        if self.refused is None:
            check_utf8(self.path, self.dialect.encoding)
        message = " ".join(str(error).split())
        try:
            self._parse(block, None, range(len(self.names)), threads=False)  # which numbers the rows
        except pa.ArrowInvalid as numbered:
            message = " ".join(str(numbered).split())
        row = _ROW.match(message)
        if row is None:
            return InputError(str(self.path), f"cannot be read: {message}")
        before = self.end_of(block.data, int(row[1]) - 1) if int(row[1]) > 1 else 0
        return InputError(str(self.path), f"line {block.line_at(before)}: {message[row.end() :]}")

    def _blocks(self, size: int | None = None, within: ByteRange | None = None) -> Iterator[Block]:
        for block in blocks(self.path, self._cut, size, within, self.dialect.encoding, self.dialect.skipped):
            if not self._may_be_broken and (self._is_broken or not block.is_cut):
                end, _, opened = self._scan(block.data, _ALL)
                if opened >= 0:
                    if end:
                        yield block.split(end)[0]
                    raise self._unclosed(block, opened)
            yield block

    @property
    def _may_be_broken(self) -> bool:
        """Whether a record with an unclosed quote ends with its line, so that only it is refused."""
        return self.refused is not None and not self.dialect.multi_line

    def _cut(self, data: bytes) -> int:
        if not self._is_quoted(data):
            return max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1
        end, _, opened = self._scan(data, _ALL)
        broken = 0 if self.dialect.multi_line or opened < 0 else data.find(b"\n", opened) + 1
        self._is_broken = broken > 0
        return broken or end

    def _scan(self, data: bytes, most: int) -> tuple[int, int, int]:
        scanned: tuple[int, int, int] = csv_records(*self._marked(data), self.dialect.multi_line, most, _NO_COMMENTS)
        return scanned

    def _marked(self, data: bytes) -> tuple[Any, ...]:
        """Text in which a separator is as long as in the file, and its marks, for the kernel."""
        separator = self.dialect.separator_in(data)
        text = np.frombuffer(self.dialect.separated(data, len(self.dialect.separator)), np.uint8)
        return text, separator, *self.dialect.quoting, self.dialect.comment_byte

    def _is_quoted(self, data: bytes) -> bool:
        """Whether it has a quote or an escape, so that a line break may be part of a value."""
        return any(chr(mark).encode() in data for mark in self.dialect.quoting if mark < 128)

    def _without_comments(self, data: bytes) -> bytes:
        """Text with its comment lines emptied. O(bytes); free if there are none."""
        if not self.dialect.comment or self.dialect.comment.encode() not in data:
            return data
        begins = np.full(data.count(self.dialect.comment.encode()), -1, np.int64)
        csv_records(*self._marked(data), self.dialect.multi_line, _ALL, begins)
        begins = begins[begins >= 0]
        text = np.frombuffer(data, np.uint8)
        breaks = np.append(np.flatnonzero((text == 10) | (text == 13)), len(text))
        steps = np.zeros(len(text) + 1, np.int64)
        steps[begins] += 1
        steps[breaks[np.searchsorted(breaks, begins)]] -= 1
        return text[steps[:-1].cumsum() == 0].tobytes()

    def _unclosed(self, block: Block, opened: int) -> InputError:
        if not self._may_be_broken:
            check_utf8(self.path, self.dialect.encoding)
        within = "" if self.dialect.multi_line else " in that line: close it, or set source.options.multiLine = true"
        return InputError(str(self.path), f"the quote in line {block.line_at(opened)} is not closed{within}")


def _is_doubtful(batch: pa.RecordBatch, data: bytes) -> bool:
    """Whether Arrow may have read a value that Spark does not: 0x10, or nan in other letters than NaN."""
    has_base_16 = any(mark in data and b"0" + mark in data for mark in (b"x", b"X"))  # a single byte is found faster
    if has_base_16 and any(map(pa.types.is_integer, batch.schema.types)):
        return True
    floats = [column for column in batch.columns if pa.types.is_floating(column.type)]
    return any(not pc.all(pc.is_finite(column), min_count=0).as_py() for column in floats)


def _restored(table: pa.Table, stand_in: str, separator: str) -> pa.Table:
    """The values that had a separator in quotes, as in the file."""
    for place, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            table = table.set_column(place, table.field(place), pc.replace_substring(column, stand_in, separator))
    return table


def _kind(kind: Any) -> Any:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", ZONE)
    return pa.string() if pa.types.is_time(kind) or pa.types.is_null(kind) else kind
