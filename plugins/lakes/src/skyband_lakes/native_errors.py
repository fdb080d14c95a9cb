"""What native libraries say of an error, in one line: without the colours and the backtrace that some put into it."""

import re

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_FRAME = re.compile(r"^ *\d+: .*", re.MULTILINE | re.DOTALL)
"""From the first line that begins with the number of a frame to the end."""


def words_of(error: BaseException) -> str:
    """Its message, or its class where there is none."""
    words = " ".join(_FRAME.sub("", _COLOURS.sub("", str(error))).split())
    return words or type(error).__name__
