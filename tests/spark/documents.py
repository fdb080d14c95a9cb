"""The code blocks of the pages in core/docs."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "core" / "docs"


def blocks(page: str, language: str) -> list[str]:
    """Every block of a page in this language, in order."""
    text = (DOCS / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
