"""Frames in few bytes, for sending to operators and for a log: repetition in a column is written once.

Each byte of a frame costs 7 ns on its way through Java, and a row of three numbers 170 ns. Columns of numbers
are encoded as column stores do: one value, steps between ascending values, distances from the smallest, or codes of a
dictionary. A column determined by another, as a hash is by its text or number, has no codes itself.

Source: Abadi, Madden and Ferreira, Integrating compression and execution in column-oriented database systems, SIGMOD
2006, section 4.
"""

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband import snapshot
from skyband.arrays import Array, Int64
from skyband.columns import record_batch_bytes
from skyband.columns.dictionaries import compact, is_dictionary_of_text, repeats
from skyband.errors import SnapshotError

PLAIN, CONSTANT, STEPS, DISTANCES, CODES, WORDS_OF, SAME_AS, OF_DISTANCES = range(8)
"""How a column is written: unchanged; one value; the first value and steps, or the smallest and distances; codes, and
a value for each; a value for each code of another column, or nothing, as it equals that column; a value for each
distance of another column."""

_FEWEST = 256
"""The fewest rows of a frame that is worth encoding; many shards mean many small frames."""
_FEW_DISTANCES = 1 << 16
"""The largest range of a column that may determine another."""
_WIDE = (pa.int64(), pa.uint64(), pa.float64())
"""Types that are written as 64 bits of any meaning."""


def to_bytes(frame: pa.RecordBatch) -> bytes:
    """A frame as bytes, for `from_bytes`, which returns repeated text as a dictionary. O(bytes)."""
    columns = [_with_codes(column) for column in frame.columns]
    frame = pa.RecordBatch.from_arrays(columns, names=frame.schema.names)
    if len(frame) < _FEWEST:
        return record_batch_bytes.to_bytes(frame)
    writer = _Writer(columns)
    ways = [writer.write(place) for place in range(len(columns))]
    return snapshot.pack({**record_batch_bytes.to_header(frame), "ways": ways}, writer.arrays)


def from_bytes(data: bytes | memoryview) -> pa.RecordBatch:
    """A frame from its bytes, or those of `record_batch_bytes.to_bytes`. O(bytes).

    Raises SnapshotError for any other bytes.
    """
    header, arrays = snapshot.unpack(data)
    schema, rows = record_batch_bytes.from_header(header)
    if "ways" not in header:
        return record_batch_bytes.from_arrays(schema, rows, "column", arrays)
    reader = _Reader(header["ways"], rows, arrays)
    return record_batch_bytes.whole_frame(schema, rows, arrays, reader.column_at)


def _with_codes(column: pa.Array) -> pa.Array:
    """Repeated text as a dictionary of its distinct values."""
    if is_dictionary_of_text(column.type):
        return compact(column)
    is_text = pa.types.is_string(column.type) and len(column) >= _FEWEST
    return pc.dictionary_encode(column) if is_text and repeats(column) else column


class _Writer:
    """Puts the columns of a frame into arrays, each in an encoding that takes few bytes."""

    def __init__(self, columns: list[pa.Array]) -> None:
        self._columns = columns
        self.arrays: dict[str, Array] = {}
        self._wide: dict[int, Int64] = {}
        """By place, columns that could not be written in a few bytes per row."""
        self._codes = {
            place: column.indices.to_numpy()
            for place, column in enumerate(columns)
            if pa.types.is_dictionary(column.type) and not column.null_count
        }
        self._numbers = {
            place: column.to_numpy().view(np.int64)
            for place, column in enumerate(columns)
            if column.type in _WIDE and not column.null_count
        }
        self._ranges = {place: (int(values.min()), int(values.max())) for place, values in self._numbers.items()}

    def write(self, place: int) -> list[int]:
        """The encoding of the column at this place, with the number that some encodings need."""
        column, name = self._columns[place], f"column {place}"
        if place in self._codes:
            self._write_codes(name, self._codes[place], len(column.dictionary))
            record_batch_bytes.take_apart(column.dictionary, f"{name} words", self.arrays)
            self.arrays[f"{name} length"] = np.array([len(column.dictionary)])
            return [CODES, 0]
        if place in self._numbers:
            return self._write_numbers(place, name, self._numbers[place])
        record_batch_bytes.take_apart(column, name, self.arrays)
        return [PLAIN, 0]

    def _write_numbers(self, place: int, name: str, values: Int64) -> list[int]:
        least, most = self._ranges[place]
        if least == most and place > 0:  # the first column stores the number of rows
            self.arrays[f"{name} data"] = values[:1]
            return [CONSTANT, 0]
        size = _size(most - least)
        if size > 1 and (values[1:] >= values[:-1]).all():
            steps = np.diff(values.view(np.uint64))
            longest = int(steps.max())
            if _size(longest) < size:
                self.arrays[f"{name} data"] = _narrow(np.append(np.uint64(0), steps), longest)
                return [STEPS, least]
        if size < 8:
            self.arrays[f"{name} data"] = _narrow((values - least).view(np.uint64), most - least)
            return [DISTANCES, least]
        return self._write_wide(place, name, values)

    def _write_wide(self, place: int, name: str, values: Int64) -> list[int]:
        for other, earlier in self._wide.items():
            if np.array_equal(earlier, values):
                return [SAME_AS, other]
        self._wide[place] = values
        for other, codes in self._codes.items():
            words = np.zeros(len(self._columns[other].dictionary), np.int64)
            words[codes] = values
            if np.array_equal(words[codes], values):
                self.arrays[f"{name} words"] = words
                return [WORDS_OF, other]
        for other, distances in self._distances.items():
            by_distance = _values_by_distance(distances, values)
            if by_distance is not None:
                self.arrays[f"{name} words"] = by_distance
                return [OF_DISTANCES, other]
        column = pa.array(values)
        if repeats(column):
            coded = column.dictionary_encode()
            self._write_codes(name, coded.indices.to_numpy(), len(coded.dictionary))
            self.arrays[f"{name} words"] = coded.dictionary.to_numpy()
            return [CODES, 0]
        record_batch_bytes.take_apart(column, name, self.arrays)
        return [PLAIN, 0]

    @cached_property
    def _distances(self) -> dict[int, Array]:
        """By place, distances in columns with a small range, which are stored as distances or steps."""
        return {
            place: (self._numbers[place] - least).astype(np.uint16)
            for place, (least, most) in self._ranges.items()
            if 0 < most - least < _FEW_DISTANCES
        }

    def _write_codes(self, name: str, codes: Array, count: int) -> None:
        self.arrays[f"{name} codes"] = _narrow(codes, count - 1)


def _values_by_distance(distances: Array, values: Int64) -> Int64 | None:
    """int64[m]: the value of each distance; None if a distance has two values."""
    for some in (slice(_FEWEST), slice(None)):  # a few rows usually disprove it
        words = np.zeros(int(distances[some].max()) + 1, np.int64)
        words[distances[some]] = values[some]
        if not np.array_equal(words[distances[some]], values[some]):
            return None
    return words


class _Reader:
    """Rebuilds the columns of a `_Writer` in order, removing their arrays."""

    def __init__(self, ways: list[tuple[int, int]], rows: int, arrays: dict[str, Array]) -> None:
        self._ways, self._rows, self._arrays = ways, rows, arrays
        self._narrow_arrays: dict[str, Array] = {}
        self._columns: list[pa.Array] = []

    def column_at(self, place: int, kind: pa.DataType) -> pa.Array:
        """The column at this place. Raises SnapshotError, or another exception, if it is invalid."""
        way, number = self._ways[place]
        name = f"column {place}"
        if way == PLAIN:
            column = record_batch_bytes.put_together(kind, self._rows, name, self._arrays)
        elif way == CODES and pa.types.is_dictionary(kind):
            column = self._dictionary(place, name, kind)
        elif kind in _WIDE:
            values = np.ascontiguousarray(self._numbers(place, name, way, number), np.int64)
            column = pa.Array.from_buffers(kind, self._rows, [None, pa.py_buffer(values)])
        else:
            raise SnapshotError(f"holds rows that contradict themselves: {name} of {kind} has the encoding {way}")
        self._columns.append(column)
        return column

    def _dictionary(self, place: int, name: str, kind: pa.DataType) -> pa.Array:
        codes = self._codes_of(place)
        (count,) = record_batch_bytes.take_out(self._arrays, f"{name} length", np.int64, 1).tolist()
        words = record_batch_bytes.put_together(kind.value_type, count, f"{name} words", self._arrays)
        return pa.DictionaryArray.from_arrays(pa.array(codes).cast(kind.index_type), words, ordered=kind.ordered)

    def _numbers(self, place: int, name: str, way: int, number: int) -> Array:
        """int64[rows], or 64-bit numbers of another type."""
        if way == STEPS:
            return self._from_steps(name) + np.int64(number)
        if way == DISTANCES:
            return self._narrow(f"{name} data").astype(np.int64) + np.int64(number)
        if way == CODES:
            return self._wide(f"{name} words")[self._codes_of(place)]
        if place > 0 and way == CONSTANT:  # the first column stores a number per row
            return np.full(self._rows, self._wide(f"{name} data")[0])
        if way == WORDS_OF:
            return self._wide(f"{name} words")[self._codes_of(number)]
        if way == OF_DISTANCES:
            return self._wide(f"{name} words")[self._distances_of(number)]
        if way == SAME_AS:
            return self._columns[number].to_numpy().view(np.int64)
        raise SnapshotError(f"holds rows that contradict themselves: {name} has the encoding {way}")

    def _codes_of(self, place: int) -> Array:
        return self._narrow(f"column {place} codes")

    def _distances_of(self, place: int) -> Array:
        """The distance of each value from the smallest, for a column stored as distances or steps."""
        name = f"column {place}"
        return self._from_steps(name) if self._ways[place][0] == STEPS else self._narrow(f"{name} data")

    def _from_steps(self, name: str) -> Int64:
        return np.cumsum(self._narrow(f"{name} data"), dtype=np.int64)

    def _narrow(self, name: str) -> Array:
        """unsigned[rows], of 8 to 64 bits; may be called repeatedly."""
        if name not in self._narrow_arrays:
            values = self._arrays.pop(name)
            if values.dtype.kind != "u" or len(values) != self._rows:
                raise SnapshotError(f"holds rows that contradict themselves: {name} must be {self._rows} integers")
            self._narrow_arrays[name] = values
        return self._narrow_arrays[name]

    def _wide(self, name: str) -> Int64:
        values = self._arrays.pop(name)
        return record_batch_bytes.take_out({name: values}, name, np.int64, len(values))


def _size(most: int) -> int:
    """The bytes of an integer from 0 to `most`."""
    return 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4 if most < 1 << 32 else 8


def _narrow(values: Array, most: int) -> Array:
    """Integers up to `most`, in as few bytes as they need."""
    return values.astype(f"<u{_size(most)}", copy=False)
