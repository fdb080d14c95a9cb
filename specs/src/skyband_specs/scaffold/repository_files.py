"""What a new plugin has besides its code: a licence, a CI file, and the badge in its README."""

from importlib.metadata import distribution

from skyband.version import __version__

LICENCE = "Apache-2.0"
_NOTICE = "Licensed under the Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0\n"

WORKFLOW = """\
# The checks of every backend and query of this plugin. The badge in README.md says which skyband-specs they are of.
name: tests
on: [push, pull_request]
permissions:
  contents: read

jobs:
  tests:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    strategy:
      matrix:
        python: ["3.11", "3.13"]
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-python@v6
        with: {{ python-version: "${{{{ matrix.python }}}}" }}
      - run: pip install -e ".[test]"
      - run: skyband verify {key}
      - run: pytest
"""


def files(key: str) -> dict[str, str]:
    """The licence and the CI file of a plugin that brings `role/name` or `query/kind`, by their paths."""
    return {"LICENSE": licence(), ".github/workflows/tests.yml": WORKFLOW.format(key=key)}


def licence() -> str:
    """The text of Skyband's own licence; a line that says where it is where that was not installed with it."""
    return distribution("skyband").read_text("licenses/LICENSE") or _NOTICE


def badge() -> str:
    """A picture that says with which checks a plugin was verified: those of this Skyband. It leads to the CI file."""
    specs = ".".join(__version__.split(".")[:2])
    message = f"verified with skyband-specs {specs}"
    picture = f"https://img.shields.io/badge/verified%20with-skyband--specs%20{specs}-2a7f62"
    return f"[![{message}][badge]][checks]\n\n[badge]: {picture}\n[checks]: .github/workflows/tests.yml"
