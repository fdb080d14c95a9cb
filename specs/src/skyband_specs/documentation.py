"""Requirements of docstrings: sections and parameters for backends; and an example that runs."""

import doctest
import io
import sys

from skyband.config.parameters import parameters_of
from skyband.docstrings import SECTIONS, parameters_section, read_docstring


def documentation_problems(cls: type) -> list[str]:
    """Problems with the docstring of a backend's class; none if it follows the layout of `SECTIONS`."""
    sections = read_docstring(cls)
    problems = []
    if not sections.summary.endswith("."):
        problems.append(f"must start with a sentence that says what it is (starts with {sections.summary!r})")
    missing = [heading for heading in SECTIONS if not sections.sections.get(heading)]
    if missing:
        message = ", ".join(missing)
        problems.append(f"lacks {message}: each is a heading underlined with dashes, with text below")
    order = [heading for heading in sections.sections if heading in SECTIONS]
    if order != sorted(order, key=SECTIONS.index):
        problems.append(f"has its sections in the order {', '.join(order)}: must be {', '.join(SECTIONS)}")
    expected = parameters_section(parameters_of(cls))
    if "Parameters" not in missing and _words(sections.sections["Parameters"]) != _words(expected):
        problems.append(f"differs from the fields of the class; the section Parameters must be\n\n{expected}\n")
    if "Examples" not in missing:
        problems += _failing_steps(cls, sections.example)
    return problems


def query_documentation_problems(cls: type) -> list[str]:
    """Problems with the docstring of a query's class: its first sentence, and an example that runs.

    The keys are documented in the class, and read from there.
    """
    parts = read_docstring(cls)
    problems = []
    if not parts.summary.endswith("."):
        problems.append(f"must start with a sentence that says what it asks (starts with {parts.summary!r})")
    if not parts.example:
        message = "lacks Examples: a heading underlined with dashes, then the query on a few rows with its answers"
        return [*problems, message]
    return problems + _failing_steps(cls, parts.example)


def _words(text: str) -> list[str]:
    return text.split()


def _failing_steps(cls: type, example: str) -> list[str]:
    """Differences between a run of the example, with the names of the class's module, and its documented output."""
    names = dict(vars(sys.modules[cls.__module__]))
    test = doctest.DocTestParser().get_doctest(example, names, cls.__name__, None, 0)
    if not any(step.want for step in test.examples):
        return ["has no example that prints something: statements after >>>, with their output"]
    report = io.StringIO()
    doctest.DocTestRunner(verbose=False).run(test, out=report.write)
    return [f"has an example with another output:\n{report.getvalue()}"] if report.getvalue() else []
