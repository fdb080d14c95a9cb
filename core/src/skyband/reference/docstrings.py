"""What a backend's class says of itself in its docstring: how it works, what it costs, and an example."""

import doctest
import re

from attrs import frozen

from skyband.reference.markdown import docstring

_COST = re.compile(r"\bO\(")
_STATED = re.compile(r"^Complexity\b(.*)", re.MULTILINE | re.DOTALL)


@frozen
class Words:
    """A class docstring taken apart."""

    text: str
    """Its paragraphs, without the example and without those that say nothing but the complexity."""
    complexity: str
    """What follows a line that begins with `Complexity`, else the sentences with an O(…); empty without either."""
    steps: tuple[str, ...]
    """The statements of its doctest, in order."""


def words_of(cls: type) -> Words:
    """The docstring of a class, taken apart."""
    written = docstring(cls)
    steps = tuple(step.source for step in doctest.DocTestParser().get_examples(written))
    paragraphs = [part for part in written.split("\n\n") if not part.startswith(">>>")]
    cost = _complexity(paragraphs)
    text = [part for part in paragraphs if " ".join(part.split()) not in cost and not part.startswith("Complexity")]
    return Words("\n\n".join(text), cost, steps)


def _complexity(paragraphs: list[str]) -> str:
    stated = [found[1] for part in paragraphs if (found := _STATED.search(part))]
    if stated:
        said = " ".join(stated[0].split()).lstrip(":, ")
        return said[:1].upper() + said[1:]
    return " ".join(sentence for part in paragraphs for sentence in _costs(part))


def _costs(paragraph: str) -> list[str]:
    """The sentences of a paragraph that have an O(…), unless it is an aside under a bold heading."""
    if paragraph.startswith("**"):
        return []
    sentences = re.split(r"(?<=\.)\s+(?=[A-Z`])", " ".join(paragraph.split()))
    return [sentence for sentence in sentences if _COST.search(sentence)]
