"""Error messages of native libraries in one line, without colours and backtraces."""

import re

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_FRAME = re.compile(r"^ *\d+: .*", re.MULTILINE | re.DOTALL)
"""From the first line that starts with a frame number to the end."""


def words_of(error: BaseException) -> str:
    """Its message, or its class if it has none."""
    words = " ".join(_FRAME.sub("", _COLOURS.sub("", str(error))).split())
    return words or type(error).__name__
