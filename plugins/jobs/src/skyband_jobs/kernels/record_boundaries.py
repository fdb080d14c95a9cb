"""Finds where records of CSV and JSON end, byte by byte, to cut text into blocks of whole records."""

import numpy as np
from skyband.arrays import Array
from skyband.kernels.nested import kernel_njit

_BREAK, _RETURN, _BACKSLASH, _QUOTE = 10, 13, 92, 34
MOST_NESTED = 1_000
"""Levels of nested JSON: Arrow's reader crashes the process at some thousands."""

FINE, NO_OBJECT, SECOND_VALUE, GOES_ON, TOO_DEEP = range(5)
"""What a line of JSON is: one object; something else; several values; cut by its end; too deep."""


@kernel_njit(nogil=True)
def csv_records(  # noqa: C901 - one loop over the states of a parser
    text: Array,
    separator: int,
    quote: int,
    escape: int,
    comment: int,
    spans_lines: bool,
    most: int,
    comments: Array,
) -> tuple[int, int, int]:
    """Find up to `most` records of text that starts with one; not blank lines, nor lines that start with `comment`.

    Quotes open a value only as its first character, as in Arrow's parser. `quote`, `escape` and `comment` are 256
    where there is none. Unless a value `spans_lines`, the records end where a line end breaks one. The places of the
    first comments are written into `comments`, int64[as many as are wanted]. O(bytes).

    Returns
    -------
    tuple
        where the last whole record ends, how many there are, and where a quote was opened that is open at the end of
        the text, or -1
    """
    is_mark = np.zeros(256, np.bool_)
    for mark in (separator, quote, escape, _BREAK, _RETURN):
        if mark < 256:
            is_mark[mark] = True
    place, end, records, opened, number = 0, 0, 0, -1, 0
    fresh, blank = True, True  # at the start of a value, of a record
    while place < len(text):
        byte = text[place]
        if byte == comment and fresh and blank:
            if number < len(comments):
                comments[number] = place
                number += 1
            while place < len(text) and text[place] != _BREAK and text[place] != _RETURN:
                place += 1
            continue
        if not is_mark[byte]:
            fresh = blank = False
        elif opened >= 0:
            if byte == escape:
                place += 1
            elif byte == _BREAK and not spans_lines:
                break
            elif byte == quote:
                if place + 1 < len(text) and text[place + 1] == quote:
                    place += 1
                else:
                    opened = -1
        elif byte in (_BREAK, _RETURN):
            if byte == _RETURN:
                if place + 1 == len(text):
                    break  # a line break may follow
                if text[place + 1] == _BREAK:
                    place += 1
            end = place + 1
            records += not blank
            if records == most:
                break
            fresh, blank = True, True
        else:
            if fresh and byte == quote:
                opened = place
            elif byte == escape:
                place += 1
            fresh, blank = byte == separator, False
        place += 1
    return end, records, opened


@kernel_njit(nogil=True)
def json_lines(text: Array) -> tuple[int, int]:
    """(FINE, -1) if each line is one JSON object or blank; else the kind and place of the first other. O(bytes).

    The inside of an object is left to a parser.
    """
    depth, begin, is_read, place = 0, 0, False, 0
    while place < len(text):
        byte = text[place]
        if byte == _QUOTE and depth > 0:
            place += 1
            while place < len(text) and text[place] != _QUOTE and text[place] != _BREAK:
                place += 2 if text[place] == _BACKSLASH else 1
            if place < len(text) and text[place] == _BREAK:
                return GOES_ON, begin
        elif byte == _BREAK:
            if depth > 0:
                return GOES_ON, begin
            begin, is_read = place + 1, False
        elif byte == 123 or (byte == 91 and depth > 0):
            if is_read and depth == 0:
                return SECOND_VALUE, begin
            is_read = True
            depth += 1
            if depth > MOST_NESTED:
                return TOO_DEEP, begin
        elif (byte == 125 or byte == 93) and depth > 0:
            depth -= 1
        elif depth == 0 and byte != 32 and byte != 9 and byte != _RETURN:
            return SECOND_VALUE if is_read else NO_OBJECT, begin
        place += 1
    return (FINE, -1) if depth == 0 else (GOES_ON, begin)


@kernel_njit(nogil=True)
def json_elements(text: Array, depth: int) -> tuple[int, int]:
    """Put each element of an array on its own line: its commas become line breaks, other line breaks and its
    brackets become spaces. Text that is not an array loses its line breaks. O(bytes).

    depth: 1 where text starts inside the array, after a comma; 0 where it starts like the file.

    Returns
    -------
    tuple
        where the last comma between elements ends, and how deep the end of text is inside brackets or a string
    """
    end, place, in_array = 0, 0, depth > 0
    while place < len(text):
        byte = text[place]
        if byte == _QUOTE:
            place += 1
            while place < len(text) and text[place] != _QUOTE:
                place += 2 if text[place] == _BACKSLASH else 1
            if place >= len(text):
                return end, depth + 1
        elif byte in (_BREAK, _RETURN):
            text[place] = 32
        elif byte in (91, 123):
            if byte == 91 and depth == 0 and not in_array:
                in_array = True
                text[place] = 32
            depth += 1
        elif byte in (93, 125):
            depth -= 1
            if depth == 0 and in_array:
                text[place] = 32 if byte == 93 else byte
        elif byte == 44 and depth == 1 and in_array:
            text[place] = _BREAK
            end = place + 1
        place += 1
    return end, depth
