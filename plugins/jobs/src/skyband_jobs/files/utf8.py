"""Refuses text files that are not UTF-8, with the place: Arrow accepts some, and writes them out broken."""

import codecs
from pathlib import Path

from skyband.errors import InputError

from skyband_jobs.files.text_blocks import Block
from skyband_jobs.files.text_encodings import open_text

_CHUNK = 1 << 20
_REMEDY = "set source.options.encoding, such as {}, or convert the file with iconv"


def check_utf8(path: Path, encoding: str | None = None) -> None:
    """Raise InputError where a file, compressed or not, is not UTF-8, or not in its encoding.

    O(its bytes), a twentieth of the time to parse JSON.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines, before = 1, 0
    with open_text(path, encoding) as take:
        while chunk := take(_CHUNK):
            incomplete = decoder.getstate()[0]
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                _refuse(path, incomplete + chunk, error.start, lines, before - len(incomplete))
            lines += chunk.count(b"\n")
            before += len(chunk)
        incomplete = decoder.getstate()[0]
        if incomplete:
            _refuse(path, incomplete, 0, lines, before - len(incomplete))


def refuse_bytes(path: Path, block: Block, first_of_file: bool, encoding: str | None = None) -> None:
    """Raise InputError for a block that is not UTF-8, with the first such place in its file, or in the block.

    To find the first in the file, it is read again.
    """
    if first_of_file:
        check_utf8(path, encoding)
    try:
        block.data.decode()
    except UnicodeDecodeError as error:
        byte = f"byte 0x{block.data[error.start]:02x}"
        message = f"line {block.line_at(error.start)} is not UTF-8 ({byte}): {_REMEDY.format('ISO-8859-1')}"
        raise InputError(str(path), message) from error


def _refuse(path: Path, text: bytes, place: int, lines: int, before: int) -> None:
    line, byte = lines + text.count(b"\n", 0, place), before + place + 1
    utf16 = before == 0 and text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    guess = "it looks like UTF-16" if utf16 else f"byte 0x{text[place]:02x}"
    remedy = _REMEDY.format("UTF-16" if utf16 else "ISO-8859-1")
    raise InputError(str(path), f"line {line}, byte {byte} of the file is not UTF-8 ({guess}): {remedy}")
