"""The keys of answers as JSON: an object with the columns of the rule's key, in its order."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.instants import python_values

_SPECIAL = '["\\\\\\x00-\\x1f]'
"""Characters that JSON escapes, as a regular expression."""


def key_texts(names: Sequence[str], columns: Sequence[pa.Array], rows: int) -> pa.Array:
    """string[n]: such as {"user": "ann", "port": 22} for each row; {} if the key has no columns."""
    pieces: list[Any] = []
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        pieces += [pa.scalar(f"{', ' if number else '{'}{json.dumps(name)}: "), _json(column)]
    if not pieces:
        return pa.array(["{}"] * rows, pa.string())
    return pc.binary_join_element_wise(*pieces, pa.scalar("}"), pa.scalar("")).cast(pa.string())


def _json(column: pa.Array) -> pa.Array:
    """The values of a column, none of them null, as JSON."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        numbers = column.to_numpy(zero_copy_only=False) + 0  # -0.0 is 0.0
        texts, finite = pa.array(numbers.astype(np.float32) if kind == pa.float16() else numbers), np.isfinite(numbers)
        texts = texts.cast(pa.string())
        return pc.if_else(pa.array(finite), texts, _quoted(texts))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = column.cast(pa.string())
        special = pc.match_substring_regex(texts, _SPECIAL)
        if not pc.any(special).as_py():
            return _quoted(texts)
        words = texts.dictionary_encode()
        return pa.array([json.dumps(word, ensure_ascii=False) for word in words.dictionary.to_pylist()]).take(
            words.indices
        )
    words = column.dictionary_encode()
    values = python_values(words.dictionary)
    return pa.array([json.dumps(_text(value), ensure_ascii=False) for value in values], pa.string()).take(words.indices)


def _text(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _quoted(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar('"'), texts, pa.scalar('"'), pa.scalar(""))
