"""A name says what a thing is, not what was done to it: those that do not become fewer with every change."""

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache

from .conftest import ROOT

MOST = {
    "asked": 14,
    "chosen": 9,
    "done": 10,
    "drawn": 5,
    "fed": 2,
    "found": 50,
    "given": 13,
    "grown": 24,
    "had": 0,
    "held": 25,
    "kept": 62,
    "known": 16,
    "left": 54,
    "listed": 3,
    "made": 13,
    "met": 7,
    "read": 51,
    "said": 2,
    "seen": 30,
    "shown": 3,
    "taken": 17,
    "told": 3,
    "wanted": 23,
    "written": 27,
}
"""Of each past participle how many times it is given as a name. A number only falls: lower it here when it does."""

SOURCES = sorted(path for pattern in ("core/src", "specs/src", "plugins/*/src") for path in ROOT.glob(pattern))


def names_given(tree: ast.AST) -> Iterator[str]:
    """The names that a module gives: of variables, attributes, arguments, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


@cache
def trees() -> list[ast.Module]:
    """Every module of core, specs and the plugins."""
    return [ast.parse(path.read_text("utf-8")) for folder in SOURCES for path in folder.rglob("*.py")]


def test_no_past_participle_becomes_a_name_more_often():
    names = Counter(name.strip("_").lower() for tree in trees() for name in names_given(tree))
    more = {word: (names[word], most) for word, most in MOST.items() if names[word] > most}
    assert not more, "name these by what they are; shown are the uses now, and the most that there may be"


MOST_UNTYPED = 12
"""Arguments of a compiled kernel that are called `Any`: more of them want their types, or a NamedTuple."""


def test_kernels_say_what_they_take():
    kernels = [
        node for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and compiled(node)
    ]
    assert len(kernels) > 400, "the kernels were found"
    untyped = {kernel.name: count for kernel in kernels if (count := called_any(kernel.args)) > MOST_UNTYPED}
    assert untyped == {}


def compiled(function: ast.FunctionDef) -> bool:
    """Whether numba compiles it, by one of its decorators."""
    return any("njit" in ast.unparse(decorator) for decorator in function.decorator_list)


def called_any(arguments: ast.arguments) -> int:
    """How many of these have `Any` as their type."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return sum(isinstance(one.annotation, ast.Name) and one.annotation.id == "Any" for one in every)


PHRASES = {
    r"(?<!there )\bis no (?!longer\b|more\b|other\b|such\b|need\b|way\b|point\b|use\b|better\b)\w+": 0,
    r"\bbelongs? into\b": 0,
    r"\bbut for\b": 1,
    r"\bso many\b": 0,
    r"\bof which\b": 39,
    r"\bwh(?:ence|ither)\b": 0,
    r"\bmend(?:s|ed|ing)?\b": 0,
    r"\bheld against\b": 0,
    r"\bof before\b": 0,
    r"\banew\b": 2,
    r"\btold apart\b": 0,
    r"\btells? .{0,20}apart\b": 0,
    r"\bnobody\b": 0,
    r"\bof (?:its|their|one's) own\b": 14,
    r"\bby itself\b": 0,
    r"\blets? go\b": 0,
    r"\bin which nothing came\b": 0,
    r"\bwhat becomes of\b": 0,
}
"""How often each phrase, a regular expression, is in the texts. A number only falls: lower it here when it does."""

PAGES = ("*.md", "core/*.md", "core/docs/*.md", "core/docs/[!r]*/*.md", "core/docs/run/*.md", "plugins/*/*.md")
"""The pages that people write; those of core/docs/reference are generated from the sources."""


def texts() -> Iterator[str]:
    """The strings and comments of every module, and every page, each on one line."""
    for path in (path for folder in SOURCES for path in folder.rglob("*.py")):
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type in (tokenize.STRING, tokenize.COMMENT):
                    yield token.string
    yield from (path.read_text("utf-8") for pattern in PAGES for path in ROOT.glob(pattern))


def test_no_phrase_comes_back():
    everything = re.sub(r"\s+", " ", "\n".join(texts())).lower()
    counts = {phrase: len(re.findall(phrase, everything)) for phrase in PHRASES}
    more = {phrase: (count, PHRASES[phrase]) for phrase, count in counts.items() if count > PHRASES[phrase]}
    assert not more, "say it in plain words; shown are the uses now, and the most that there may be"
