"""Respells JSON so that Arrow reads it as Spark does: any value where text is expected, "NaN" where a float is."""

import numpy as np
from skyband.arrays import Array
from skyband.kernels.nested import kernel_njit, nested_njit

OTHER, TEXT, FLOAT, OBJECT, LIST = range(5)
"""What is expected: a value that stays as it is; its text; a float; an object or a list with parts."""
_QUOTE, _BACKSLASH, _COMMA, _COLON, _SPACE = 34, 92, 44, 58, 32
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST, _NULL = 123, 125, 91, 93, 110
_NOWHERE = -1


@nested_njit
def _after_text(text: Array, place: int) -> int:
    """The end of a quoted text that starts here."""
    place += 1
    while place < len(text) and text[place] != _QUOTE:
        place += 2 if text[place] == _BACKSLASH else 1
    return min(place + 1, len(text))


@nested_njit
def _after_value(text: Array, place: int) -> int:
    """The end of any value that starts here."""
    depth = 0
    while place < len(text):
        byte = text[place]
        if byte == _QUOTE:
            place = _after_text(text, place)
            if depth == 0:
                return place
            continue
        if byte in (_OPEN, _OPEN_LIST):
            depth += 1
        elif byte in (_CLOSE, _CLOSE_LIST):
            depth -= 1
            if depth <= 0:
                return place + 1 if depth == 0 else place
        elif depth == 0 and (byte == _COMMA or byte <= _SPACE):
            return place
        place += 1
    return place


@nested_njit
def _float_named(text: Array, begin: int, end: int) -> int:
    """1, -1 or 2 for a text that Spark reads as infinity, minus infinity or NaN; 0 for others."""
    sign, letters = 1, begin
    if begin < end and (text[begin] == 43 or text[begin] == 45):
        sign, letters = 44 - text[begin], begin + 1
    for name, value in ((b"Infinity", 1), (b"INF", 1), (b"NaN", 2)):
        same = end - letters == len(name) and (value == 1 or letters == begin)
        for at in range(len(name)):
            same = same and text[letters + at] == name[at]
        if same:
            return sign * value
    return 0


@nested_njit
def _child(text: Array, begin: int, end: int, first: int, last: int, names: Array, ends: Array) -> int:
    """The node from `first` to before `last` that has this name."""
    for node in range(first, last):
        start = ends[node - 1] if node else 0
        if ends[node] - start == end - begin:
            same = True
            for at in range(end - begin):
                same = same and names[start + at] == text[begin + at]
            if same:
                return node
    return _NOWHERE


@nested_njit
def _quoted(text: Array, begin: int, end: int, out: Array, size: int) -> int:
    """Write part of the text in quotes; returns the end of the output."""
    out[size] = _QUOTE
    size += 1
    for at in range(begin, end):
        if text[at] == _QUOTE or text[at] == _BACKSLASH:
            out[size] = _BACKSLASH
            size += 1
        out[size] = text[at]
        size += 1
    out[size] = _QUOTE
    return size + 1


@nested_njit
def _named(text: Array, begin: int, end: int, out: Array, size: int) -> int:
    """Write a quoted text as the float it names, others unchanged; returns the end of the output."""
    value = _float_named(text, begin + 1, end - 1)
    if value == 0:
        out[size : size + end - begin] = text[begin:end]
        return size + end - begin
    if value == -1:
        out[size] = 45
        size += 1
    name = b"NaN" if value == 2 else b"Infinity"
    for at in range(len(name)):
        out[size + at] = name[at]
    return size + len(name)


@kernel_njit(nogil=True)
def json_spelt(text: Array, kinds: Array, firsts: Array, lasts: Array, names: Array, ends: Array, out: Array) -> int:
    """Write lines of JSON objects, checked by `json_lines`; returns the bytes written, at most three for each read.

    kinds: int64[nodes], what is expected; node 0 is the line. firsts, lasts: int64[nodes], the parts: the nodes of
    an object by their names, or the one of a list. names, ends: the bytes of all names, and where each ends.
    """
    parents = np.zeros(1 << 10, np.int64)
    depth, size, place, node, is_name = 0, 0, 0, 0, False
    while place < len(text):
        byte, end = text[place], place + 1
        parent = parents[depth]
        if depth == 0 and byte == 10:
            node = 0
        elif byte <= _SPACE or byte == _COLON:
            pass
        elif byte == _COMMA:
            is_name = kinds[parent] == OBJECT
            node = node if is_name else firsts[parent]
        elif byte in (_CLOSE, _CLOSE_LIST):
            depth, is_name = max(depth - 1, 0), False
        elif is_name:
            end = _after_text(text, place)
            node = _child(text, place + 1, end - 1, firsts[parent], lasts[parent], names, ends)
            is_name = False
        else:
            kind = kinds[node] if node >= 0 else OTHER
            if (kind == OBJECT and byte == _OPEN) or (kind == LIST and byte == _OPEN_LIST):
                depth += 1
                parents[depth] = node
                is_name, node = kind == OBJECT, firsts[node]
            elif kind == TEXT and byte != _QUOTE and byte != _NULL:
                end = _after_value(text, place)
                size = _quoted(text, place, end, out, size)
                place = end
                continue
            else:
                end = max(_after_value(text, place), place + 1)
                if kind == FLOAT and byte == _QUOTE:
                    size = _named(text, place, end, out, size)
                    place = end
                    continue
        out[size : size + end - place] = text[place:end]
        size += end - place
        place = end
    return size
