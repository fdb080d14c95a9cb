"""Creates the functions of `skyband.states` from the questions that installed readers answer."""

import inspect
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from skyband.config.parameters import Parameter
from skyband.errors import PluginError
from skyband.registry import Registry, installed
from skyband.registry.module_import import load
from skyband.states.asking import ask_states, questions_of
from skyband.states.question import Question
from skyband.states.readers import Readers, installed_readers
from skyband.states.since_or_last import WindowRequest
from skyband.states.state import read_state, read_states

_STATES = """states : bytes, list or Arrow column
    the bytes of one state, or several states in a list, an Arrow column or any iterable, counted together"""
_PAIR = """left, right : bytes
    two states of one backend with equal parameters. They may have different moments: with `last` each window ends at
    its own state's"""
_WINDOW = """since : moment, default None
    the start of the window: text, a datetime (UTC without a zone), microseconds, or a row's number
last : duration, default None
    instead of `since`, the window's length up to the moment of the state, such as "37 minutes". Without either:
    everything the states cover"""
_READERS = """readers : Readers, default None
    the backends whose states can be read; None: those installed"""
_RAISES = """InputError
    a state does not cover the window (the message gives the earliest moment), its backend answers no window that
    begins there, a parameter is wrong, or the states cannot be combined
SnapshotError
    a state is damaged, from another version, of a backend that is not installed, or does not answer this question"""


def questions() -> dict[str, type[Question]]:
    """The questions about states of installed backends, by name."""
    return _listing(installed())[0]


def problems() -> list[str]:
    """Why the questions of a reader are missing: a broken plugin does not affect the others."""
    return _listing(installed())[1]


@lru_cache(maxsize=1)
def _listing(_: Registry) -> tuple[dict[str, type[Question]], list[str]]:
    readers = installed_readers()
    questions: dict[str, type[Question]] = {}
    wrong: list[str] = []
    for info in readers.infos.values():
        try:
            reader = readers.reader(info) if info.reader else load(readers.restoring[info.role], info.key)
            questions = {
                **questions,
                **{name: question for name, question in questions_of(reader).items() if name not in questions},
            }
        except PluginError as error:
            wrong.append(str(error))
    return questions, wrong


def exported() -> dict[str, type[Question]]:
    """Other names that the questions' modules add to `skyband.states`, each with its question."""
    return {name: question for question in questions().values() for name in question.exports}


def function_of(name: str) -> Any:
    """The function of a question, or a name exported with one. Raises KeyError for other names."""
    question = questions().get(name)
    return getattr(sys.modules[exported()[name].__module__], name) if question is None else _function(question)


@cache
def _function(question: type[Question]) -> Any:
    name = question.name
    ask = _of_pairs(name) if question.of_pairs else _of_several(name)
    ask.__name__ = ask.__qualname__ = name
    ask.__module__ = "skyband.states"
    ask.__doc__ = _docstring(question)
    leading = ("left", "right") if question.of_pairs else ("states",)
    ask.__signature__ = signature(question, leading, ("readers",))  # type: ignore[attr-defined]
    return ask


def signature(question: type[Question], leading: tuple[str, ...], trailing: tuple[str, ...] = ()) -> inspect.Signature:
    """The signature of a function for a question: states, the window and the question's parameters."""
    defaults = {"since": None, "last": None, **{entry.name: entry.default for entry in question.parameters()}}
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in {**defaults, **dict.fromkeys(trailing)}.items()
    ]
    placed = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in leading]
    return inspect.Signature([*placed, *named])


def parameter_text(parameter: Parameter) -> str:
    """A parameter as docstring text."""
    return f"{parameter.name} : {parameter.type}, default {parameter.default}\n    {parameter.help}"


def _of_several(name: str) -> Callable[..., Any]:
    def ask(states: Any, *, since: Any = None, last: Any = None, readers: Readers | None = None, **values: Any) -> Any:
        return ask_states(name, read_states(states, readers), WindowRequest.read(since, last), values)

    return ask


def _of_pairs(name: str) -> Callable[..., Any]:
    def ask(
        left: Any, right: Any, *, since: Any = None, last: Any = None, readers: Readers | None = None, **values: Any
    ) -> Any:
        pair = [read_state(state, readers) for state in (left, right)]
        return ask_states(name, pair, WindowRequest.read(since, last), values)

    return ask


def _docstring(question: type[Question]) -> str:
    terms = [_PAIR if question.of_pairs else _STATES, _WINDOW, *map(parameter_text, question.parameters()), _READERS]
    parts = [inspect.cleandoc(question.__doc__ or question.name)]
    sections = {"Parameters": "\n".join(terms), "Returns": question.returns, "Raises": _RAISES}
    parts += [f"{heading}\n{'-' * len(heading)}\n{text}" for heading, text in sections.items() if text]
    return "\n\n".join(parts)
