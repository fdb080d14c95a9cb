"""Splits a docstring into its summary, explanation and sections."""

import doctest
import inspect
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from attrs import NOTHING, frozen

from skyband.config.parameters import Parameter

SECTIONS = ("Parameters", "Complexity", "References", "Examples")
"""The headings of a backend's docstring in order, each underlined with dashes."""

WIDTH = 116
_HEADING = re.compile(r"^([A-Z][A-Za-z ]*)\n-{3,}[ ]*$", re.MULTILINE)


def docstring(owner: Any) -> str:
    """An object's own docstring without indentation; empty if it has none."""
    return inspect.cleandoc(owner.__doc__ or "")


@frozen
class Docstring:
    """The parts of a class's or function's docstring."""

    summary: str
    """Its first paragraph, on one line."""
    explanation: str
    """The paragraphs between the summary and the first heading."""
    sections: dict[str, str]
    """The text under each heading, in the order written."""

    @property
    def text(self) -> str:
        """Everything before the first heading."""
        return "\n\n".join(part for part in (self.summary, self.explanation) if part)

    @property
    def complexity(self) -> str:
        """Its costs; empty if not stated."""
        return self.sections.get("Complexity", "")

    @property
    def references(self) -> str:
        """Its sources; empty if not stated."""
        return self.sections.get("References", "")

    @property
    def example(self) -> str:
        """A Python session with its output; empty if there is none."""
        return self.sections.get("Examples", "")

    @property
    def steps(self) -> tuple[str, ...]:
        """The statements of the example, in order."""
        return tuple(step.source for step in doctest.DocTestParser().get_examples(self.example))


def read_docstring(owner: Any) -> Docstring:
    """The docstring of a class or function in parts; one without headings has no sections."""
    before, *pieces = _HEADING.split(docstring(owner))
    summary, _, explanation = before.strip().partition("\n\n")
    sections = {heading: body.strip("\n") for heading, body in zip(pieces[::2], pieces[1::2], strict=True)}
    return Docstring(" ".join(summary.split()), explanation.strip(), sections)


def parameters_section(entries: Iterable[Parameter], width: int = WIDTH) -> str:
    """The text under `Parameters`, from the class's fields: name, type, default, meaning and bounds."""
    lines = []
    for entry in entries:
        lines.append(f"{entry.name} : {entry.type}{_default(entry)}")
        description = f"{entry.help} ({entry.bounds})" if entry.bounds else entry.help
        lines += textwrap.wrap(
            description, width - 4, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
        )
    return "\n".join(lines) or "None."


def _default(entry: Parameter) -> str:
    if entry.default is NOTHING:
        return ""
    return f', default "{entry.default}"' if isinstance(entry.default, str) else f", default {entry.default}"
