"""Respells JSON so that Arrow reads it as Spark does: any value where text is expected, "NaN" or 1e400 for a float."""

import numpy as np
from skyband.arrays import Array
from skyband.kernels.nested import kernel_njit, nested_njit

OTHER, TEXT, FLOAT, OBJECT, LIST = range(5)
"""What is expected: a value that stays as it is; its text; a float; an object or a list with parts."""
_QUOTE, _BACKSLASH, _COMMA, _COLON, _SPACE = 34, 92, 44, 58, 32
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST, _NULL = 123, 125, 91, 93, 110
_NOWHERE = -1
_MINUS, _PLUS, _POINT, _ZERO, _NINE = 45, 43, 46, 48, 57
_INFINITE, _NAN, _NIL, _NEGATIVE_NIL, _PLAIN, _WRONG = 1, 2, 3, 4, 5, 0
"""The meaning of a bare value: a float by name, also with a sign; zeros; other numbers and words; no JSON on Spark."""
_LARGEST, _DIGITS, _FAR = 1797693134862315807, 19, 1_000_000
"""The first digits of the number from which floats are infinite, times 10^308."""


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
    """1, -1 or 2 for a text that Spark reads as infinity, minus infinity or NaN; 0 for others, such as INF and -NaN."""
    sign, letters = 1, begin
    if begin < end and (text[begin] == _PLUS or text[begin] == _MINUS):
        sign, letters = 44 - text[begin], begin + 1
    for name, value, signed in ((b"Infinity", 1, 2), (b"INF", 1, 1), (b"NaN", 2, 0)):
        same = end - letters == len(name) and (signed == 2 or letters - begin == signed)
        for at in range(len(name)):
            same = same and text[letters + at] == name[at]
        if same:
            return sign * value
    return 0


@nested_njit
def _digits(text: Array, place: int, end: int) -> int:
    """The end of the digits that start here."""
    while place < end and _ZERO <= text[place] <= _NINE:
        place += 1
    return place


@nested_njit
def _number(text: Array, begin: int, end: int) -> int:
    """The meaning of a number: plain, zero, infinite, or none if it is not one in JSON."""
    negative = text[begin] == _MINUS
    first = begin + 1 if negative else begin
    point = _digits(text, first, end)
    after = _digits(text, point + 1, end) if point < end and text[point] == _POINT else point
    if point == first or after == point + 1 or (text[first] == _ZERO and point > first + 1):
        return _WRONG
    exponent = 0
    if after < end:
        sign = after + 1
        place = sign + 1 if sign < end and (text[sign] == _PLUS or text[sign] == _MINUS) else sign
        if (text[after] | 32) != 101 or place == end or _digits(text, place, end) != end:  # e
            return _WRONG
        for at in range(place, end):
            exponent = min(exponent * 10 + text[at] - _ZERO, _FAR)
        exponent = -exponent if text[sign] == _MINUS else exponent
    size, leading, count = point - first - 1, np.int64(0), 0
    for at in range(first, after):
        if text[at] != _POINT:
            if count == 0 and text[at] == _ZERO:
                size -= 1
            elif count < _DIGITS:
                leading, count = leading * 10 + text[at] - _ZERO, count + 1
    if count == 0:
        return (_NEGATIVE_NIL if negative and after + point < 2 * end else _NIL) if negative or after < end else _PLAIN
    for _ in range(count, _DIGITS):
        leading *= 10
    infinite = size + exponent > 308 or (size + exponent == 308 and leading > _LARGEST)
    return (-_INFINITE if negative else _INFINITE) if infinite else _PLAIN


@nested_njit
def _meaning(text: Array, begin: int, end: int) -> int:
    """What Spark reads in a bare value."""
    named = _float_named(text, begin, end)
    if named != 0:
        return named
    for word in (b"true", b"false", b"null"):
        same = end - begin == len(word)
        for at in range(len(word)):
            same = same and text[begin + at] == word[at]
        if same:
            return _PLAIN
    return _number(text, begin, end)


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
def _copied(text: Array, begin: int, end: int, out: Array, size: int) -> int:
    """Write part of the text; returns the end of the output."""
    for at in range(begin, end):
        out[size + at - begin] = text[at]
    return size + end - begin


@nested_njit
def _float(text: Array, begin: int, end: int, out: Array, size: int) -> int:
    """Write a value as the float that Spark reads, others so that they are refused; returns the end of the output."""
    quoted = text[begin] == _QUOTE
    value = _float_named(text, begin + 1, end - 1) if quoted else _meaning(text, begin, end)
    if value == _WRONG and not quoted:  # Arrow reads Inf, -Inf and -NaN as floats
        return _quoted(text, begin, end, out, size)
    if value in (_WRONG, _PLAIN):
        return _copied(text, begin, end, out, size)
    if value in (-_INFINITE, _NEGATIVE_NIL):
        out[size] = _MINUS
        size += 1
    name = b"NaN" if value == _NAN else b"Infinity" if abs(value) == _INFINITE else b"0.0"
    for at in range(len(name)):
        out[size + at] = name[at]
    return size + len(name)


@nested_njit
def _as_null(text: Array, begin: int, end: int, out: Array, size: int) -> int:
    """Write a bare value that is not read: as null if only Spark knows it; returns the end of the output."""
    value = _meaning(text, begin, end)
    if value in (_WRONG, _PLAIN):
        return _copied(text, begin, end, out, size)
    for at in range(4):
        out[size + at] = b"null"[at]
    return size + 4


@kernel_njit(nogil=True)
def json_spelt(
    text: Array, kinds: Array, firsts: Array, lasts: Array, names: Array, ends: Array, others: bool, out: Array
) -> int:
    """Write lines of JSON objects, checked by `json_lines`; returns the bytes written, at most three for each read.

    kinds: int64[nodes], what is expected; node 0 is the line. firsts, lasts: int64[nodes], the parts: the nodes of
    an object by their names, or the one of a list. names, ends: the bytes of all names, and where each ends. others:
    whether values without a node are read too, and so stay as they are.
    """
    parents, objects = np.zeros(1 << 10, np.int64), np.zeros(1 << 10, np.bool_)
    depth, size, place, node, is_name = 0, 0, 0, 0, False
    while place < len(text):
        byte, end = text[place], place + 1
        parent = parents[depth]
        if byte == 10:  # a line is an object
            depth, node, is_name = 0, 0, False
        elif byte <= _SPACE or byte == _COLON:
            pass
        elif byte == _COMMA:
            is_name = objects[depth]
            node = node if is_name else firsts[parent] if parent >= 0 else _NOWHERE
        elif byte in (_CLOSE, _CLOSE_LIST):
            depth, is_name = max(depth - 1, 0), False
        elif is_name:
            end = _after_text(text, place)
            node = _child(text, place + 1, end - 1, firsts[parent], lasts[parent], names, ends) if parent >= 0 else -1
            is_name = False
        else:
            kind, skipped = kinds[node] if node >= 0 else OTHER, node < 0 and not others
            into = (kind == OBJECT and byte == _OPEN) or (kind == LIST and byte == _OPEN_LIST)
            into |= skipped and byte in (_OPEN, _OPEN_LIST)
            if into and depth + 1 < len(parents):
                depth += 1
                parents[depth], objects[depth] = node, byte == _OPEN
                is_name, node = byte == _OPEN, firsts[node] if node >= 0 else _NOWHERE
            else:
                end = max(_after_value(text, place), place + 1)
                bare = byte not in (_QUOTE, _OPEN, _OPEN_LIST)
                if kind == TEXT and byte != _QUOTE and byte != _NULL:
                    wrong = bare and _meaning(text, place, end) == _WRONG
                    size = _copied(text, place, end, out, size) if wrong else _quoted(text, place, end, out, size)
                elif kind == FLOAT and (bare or byte == _QUOTE):
                    size = _float(text, place, end, out, size)
                elif skipped and bare:
                    size = _as_null(text, place, end, out, size)
                else:
                    size = _copied(text, place, end, out, size)
                place = end
                continue
        size = _copied(text, place, end, out, size)
        place = end
    return size
