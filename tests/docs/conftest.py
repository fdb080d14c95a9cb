"""The documents and their blocks; `--write` brings the generated parts up to date instead of checking them."""

import re
from pathlib import Path

import pytest
from attrs import frozen

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@frozen
class Block:
    """A fenced block: its language and its text."""

    language: str
    body: str


def pytest_addoption(parser):
    parser.addoption("--write", action="store_true", help="bring generated parts of the documents up to date")


class Document:
    """One Markdown file at the root."""

    def __init__(self, path: Path, write: bool) -> None:
        self.path = path
        self._write = write

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    def blocks(self, language: str) -> list[Block]:
        found = [Block(m["language"], m["body"]) for m in _BLOCK.finditer(self.text)]
        return [block for block in found if block.language == language]

    def holds(self, old: str, new: str) -> None:
        """Check that generated text is up to date, or write it."""
        if self._write and old != new:
            assert self.text.count(old) == 1
            self.path.write_text(self.text.replace(old, new), "utf-8")
        else:
            assert old == new, "run `tox -e docs -- --write`"


@pytest.fixture
def readme(request):
    return Document(ROOT / "README.md", request.config.getoption("--write"))


@pytest.fixture
def contributing(request):
    return Document(ROOT / "CONTRIBUTING.md", request.config.getoption("--write"))
