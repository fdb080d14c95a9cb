"""Answers a question from states and a window."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.columns.integer_ids import numbers_column
from skyband.errors import InputError, PluginError, SnapshotError
from skyband.registry.module_import import load
from skyband.roles.answering_reader import AnsweringReader
from skyband.states.compatibility import check_alike, common_coverage
from skyband.states.object_names import values_of
from skyband.states.question import Question
from skyband.states.since_or_last import WindowRequest
from skyband.states.state import State

RESERVED = ("states", "left", "right", "since", "last", "readers", "at", "by", "union", "column", "json", "question")
"""Argument names of the functions and the command line, which no parameter of a question can have."""


@lru_cache(maxsize=64)
def questions_of(reader: type[AnsweringReader]) -> dict[str, type[Question]]:
    """The questions a reader answers, by name. Raises PluginError if one is not a Question or not installed."""
    loaded = [_question(reader, place) for place in reader.questions]
    return {question.name: question for question in loaded}


def _question(reader: type[AnsweringReader], place: str) -> type[Question]:
    owner = f"{reader.__module__}:{reader.__qualname__}"
    question = load(place, owner)
    if not (isinstance(question, type) and issubclass(question, Question)):
        raise PluginError(f"{owner}: {place} is not a subclass of Question")
    clashes = [parameter.name for parameter in question.parameters() if parameter.name in RESERVED]
    if clashes:
        raise PluginError(f"{owner}: {place} has a parameter {clashes[0]}, a name that is reserved: rename it")
    return question


def reader_class_of(state: State) -> Any:
    """The class of a state's reader."""
    return type(state.reader)


def ask_states(name: str, states: Sequence[State], window: WindowRequest, values: Mapping[str, Any]) -> Any:
    """The answer to a question, by its name and parameters. Raises SnapshotError if the states do not answer it."""
    questions = questions_of(reader_class_of(states[0]))
    if name not in questions:
        message = f"holds the state of {states[0].key}, which does not answer {name}"
        raise SnapshotError(f"{message} (it answers {', '.join(questions) or 'nothing'})")
    question = questions[name].make(values)
    check_window(question, window)
    argument = "last" if window.since is None else "since"
    if question.of_pairs:
        check_alike(states, "right")
        moments = [window.moment_in(state) for state in states]
    elif len(states) == 1:
        moments = [window.moment_in(states[0])]
    else:
        since = window.within(common_coverage(states), max(state.floor for state in states))
        moments = [since] * len(states)
    return answer(question, states, moments, argument)


def check_window(question: Question, window: WindowRequest) -> None:
    """Raise InputError for a window, if the question has its own."""
    if question.own_windows and window != WindowRequest():
        name = "last" if window.since is None else "since"
        raise InputError(name, f"{question.name} has the windows of the query that made the state: leave it out")


def answer(question: Question, states: Sequence[State], since: Sequence[int], argument: str) -> Any:
    """The answer since moments that the states cover; `argument`: the name in errors."""
    moments = [state.to_backend(argument, moment) for state, moment in zip(states, since, strict=True)]
    answers = question.answer(states, moments)
    return _table(question, states, answers) if pa.types.is_list(question.result) else answers


def row_of(question: Question, answer: Any) -> dict[str, Any]:
    """An answer of one row or one value, by column."""
    if not pa.types.is_struct(question.result):
        return {question.name: answer}
    return dict(answer) if isinstance(answer, Mapping) else dict(zip(question.columns, answer, strict=True))


def _table(question: Question, states: Sequence[State], columns: Mapping[str, Any]) -> pa.Table:
    return pa.table({name: _column(question, states, name, columns[name]) for name in question.columns})


def _column(question: Question, states: Sequence[State], name: str, values: Any) -> pa.Array:
    if name == question.objects:
        names = [state.names for state in states if state.names is not None]
        if not names:
            raise InputError("states", f"of {states[0].key} have no names of objects")
        return values_of(names, values)
    if isinstance(values, np.ndarray) and values.dtype in (np.int64, np.float64):
        return numbers_column(values)
    return pa.array(values, question.result.value_type.field(name).type)
