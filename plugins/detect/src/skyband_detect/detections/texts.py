"""The distinct texts of a batch's columns, in the case that conditions compare, shared by all conditions."""

from functools import cached_property

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband_expressions.binding import bind, rows_of
from skyband_expressions.bound import Places, Rows, rows_at
from skyband_expressions.syntax import Call, Name

CASES = {"lower": "lower", "lcase": "lower", "upper": "upper", "ucase": "upper"}
"""The functions that change the case of text, and the name of each."""
_MARK = "\0"
_WORDS_OF_16_BITS = 1 << 16
_MANY_WORDS = 64


def cased(function: str, name: str) -> str:
    """The name of the column that has a column's text in another case."""
    return f"{_MARK}{CASES[function]}{_MARK}{name}"


class Texts:
    """The distinct texts of a column, each with its rows. words: string[k], null among them; codes: int[n] of rows."""

    def __init__(self, words: pa.Array, codes: Array) -> None:
        self.words, self._codes = words, codes

    def __len__(self) -> int:
        return len(self.words)

    def rows_of(self, codes: Int64) -> Int64:
        """The rows with one of these words, ascending. O(rows · log rows)."""
        pieces = [self._order[self._cuts[code] : self._cuts[code + 1]] for code in codes.tolist()]
        if len(pieces) == 1:
            return pieces[0]
        return np.sort(np.concatenate(pieces)) if pieces else np.empty(0, np.int64)

    def rows_where(self, has: Array, rows: Int64 | None) -> Int64:
        """Those of these rows, or of all, whose words bool[k] has. Few of all: O(rows · log rows), else O(n)."""
        if rows is not None:
            return rows[has[self._codes[rows]]]
        codes = np.flatnonzero(has)
        many = len(codes) > _MANY_WORDS or 8 * self.count(codes) > len(self._codes)
        return np.flatnonzero(has[self._codes]) if many else self.rows_of(codes)

    def codes_of(self, words: tuple[str, ...]) -> Int64:
        """The codes of those of these words that there are."""
        return np.array([self._places[word] for word in words if word in self._places], np.int64)

    def count(self, codes: Int64) -> int:
        """The number of rows with one of these words."""
        return int((self._cuts[codes + 1] - self._cuts[codes]).sum())

    def at(self, rows: Places) -> pa.Array:
        """The texts of these rows; None: of all."""
        return self.words.take(pa.array(self._codes if rows is None else self._codes[rows]))

    def in_case(self, function: str) -> "Texts":
        """The texts in another case; some may become equal. O(k)."""
        names = pa.RecordBatch.from_arrays([self.words], names=[function])
        changed = bind(Call(function, (Name((function,)),)), names.schema).evaluate(rows_of(names))
        words, codes = _distinct(changed)
        return Texts(words, codes[self._codes])

    @cached_property
    def _places(self) -> dict[str | None, int]:
        return {word: code for code, word in enumerate(self.words.to_pylist())}

    @cached_property
    def _cuts(self) -> Int64:
        """int64[k + 1]: where the rows of each word begin in `_order`."""
        return np.append(0, np.cumsum(np.bincount(self._codes, minlength=len(self.words))))

    @cached_property
    def _order(self) -> Int64:
        return _by_code(self._codes, len(self.words))


class BatchTexts:
    """The distinct texts of each column of a batch and of its other cases, made on first use."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch, self._texts = rows_of(batch), dict[str, Texts]()

    def __getitem__(self, name: str) -> Texts:
        if name not in self._texts:
            if name.startswith(_MARK):
                _, function, source = name.split(_MARK, 2)
                self._texts[name] = self[source].in_case(function)
            else:
                self._texts[name] = Texts(*_distinct(self._batch.column(name)))
        return self._texts[name]

    def __len__(self) -> int:
        return self._batch.length

    def rows(self, places: Int64 | None) -> Rows:
        """The rows at these places, or all, with columns for the other cases."""
        rows = Rows(self._batch.length, self._column)
        return rows if places is None else rows.take(places)

    def _column(self, name: str, places: Places) -> pa.Array:
        return self[name].at(places) if name.startswith(_MARK) else rows_at(self._batch.column(name), places)


def _distinct(column: pa.Array) -> tuple[pa.Array, Array]:
    """The distinct texts of a column, then null, and the place of each row's among them."""
    encoded = column.dictionary_encode()
    words = pa.concat_arrays([encoded.dictionary, pa.nulls(1, encoded.dictionary.type)])
    return words, encoded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)


def _by_code(codes: Array, count: int) -> Int64:
    """int64[n]: the rows in order of their codes, which are below `count`."""
    few = count <= _WORDS_OF_16_BITS  # so few bits make it a radix sort
    return np.argsort(codes.astype(np.uint16) if few else codes, kind="stable")
