"""Implements `skyband ask`: any windows of a table of states, with groups merged as requested. Loads no numba."""

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import pyarrow as pa
from attrs import frozen
from skyband.config.literals import literal
from skyband.config.parameters import Parameter
from skyband.errors import InputError, suggest
from skyband.states.asking import answer, check_window, questions_of, reader_class_of, row_of
from skyband.states.compatibility import common_coverage
from skyband.states.coverage import Coverage
from skyband.states.functions import questions
from skyband.states.question import Question
from skyband.states.since_or_last import WindowRequest, moment_named
from skyband.states.state import State

from skyband_jobs.files.states_table import GroupState, StatesTable
from skyband_jobs.formats.json_rows import json_value

NOTHING: Mapping[str, Any] = MappingProxyType({})


@frozen
class Row:
    """The answer of one group, or of several merged groups, over one window."""

    group: Mapping[str, Any]
    """The value of each grouping column; without those that were merged."""
    window: str
    numbers: Mapping[str, Any]
    """The columns of the question's result, for one of its rows."""


@frozen
class Answers:
    """The answers of a table at one moment."""

    at: str
    """The moment, for people."""
    by: tuple[str, ...]
    rows: tuple[Row, ...]
    whole_numbers: bool = False
    """Whether people see the numbers rounded."""


@frozen
class QuestionParameter:
    """A parameter of the questions that installed backends' states answer."""

    question: str
    """The first question that has it."""
    parameter: Parameter
    several: bool
    """Whether it may be given several times."""


def parameters() -> dict[str, QuestionParameter]:
    """The parameters of questions about single states, by name."""
    by_name: dict[str, QuestionParameter] = {}
    for question in questions().values():
        for one in () if question.of_pairs else question.parameters():
            several = one.name in question.each or one.type == "list"
            by_name.setdefault(one.name, QuestionParameter(question.name, one, several))
    return by_name


class TableOfStates(Protocol):
    """A table of states, wherever it is."""

    grouping: list[str]
    """The grouping columns."""

    def as_of(self, at: int | None) -> tuple[int, list[GroupState]]:
        """The moment `at`, or the newest, and the states of all groups then, of one at least. Raises InputError."""


def ask(
    path: str, lasts: Sequence[str] = (), at: str | None = None, by: Sequence[str] = (), united: bool = False,
    column: str = "state", question: str | None = None, values: Mapping[str, Any] = NOTHING,
) -> Answers:  # fmt: skip
    """As `ask_table`, for Parquet files. Raises InputError too where there are none, or a column is missing."""
    return ask_table(StatesTable(path, column), lasts, at, by, united, question, values)


def ask_table(
    table: TableOfStates, lasts: Sequence[str] = (), at: str | None = None, by: Sequence[str] = (),
    united: bool = False, question: str | None = None, values: Mapping[str, Any] = NOTHING,
    before_each: Callable[[], None] = lambda: None,
) -> Answers:  # fmt: skip
    """The answers of a table's groups at a moment: each group alone, merged by some columns, or all merged.

    `at`: a moment of the table; None: the newest. `question`: its name; None: the first that takes the parameters in
    `values`, where a parameter that may be repeated is a list. `before_each`: called before each answer; it may raise.
    Raises InputError with the option, where a column, a moment or a window is missing, and SnapshotError with the
    group, where a state is damaged.
    """
    windows = [WindowRequest.read(None, last) for last in lasts] or [WindowRequest()]
    for name in by:
        if name not in table.grouping:
            raise InputError("by", f"the states have no grouping column {name!r}; {suggest(name, table.grouping)}")
    if len(set(by)) < len(by):
        raise InputError("by", f"names a column twice (got {', '.join(by)})")
    at_moment, groups = table.as_of(None if at is None else moment_named("at", at))
    questions = _questions_with(_question_class(groups[0].state, question, values), values)
    for window in windows:
        check_window(questions[0][0], window)
    moment = _moment_of([each.state for each in groups], at_moment)
    named = list(by) if by else table.grouping
    parts: dict[tuple[Any, ...], list[State]] = {}
    if by or not united:
        for each in groups:
            parts.setdefault(tuple(each.group[name] for name in named), []).append(each.state)
    answered = [(dict(zip(named, key, strict=True)), parts[key]) for key in sorted(parts, key=lambda k: [*map(str, k)])]
    if united:
        answered.append(({}, [each.state for each in groups]))
    answers = tuple(
        Row(group, str(window.last or moment.length), numbers)
        for group, states in answered
        for window in windows
        for one, which in questions
        for numbers in _answers(one, which, states, window, moment, before_each)
    )
    whole = questions[0][0].whole_numbers
    return Answers(moment.show(moment.at), tuple(named) if parts else (), answers, whole)


def to_json(answers: Answers) -> str:
    """The answers as JSON: the moment, and an object for each row."""
    rows = [json_value({**row.group, "last": row.window, **row.numbers}) for row in answers.rows]
    return json.dumps({"at": answers.at, "answers": rows}, indent=2, default=str)


def _question_class(state: State, name: str | None, values: Mapping[str, Any]) -> type[Question]:
    """The question by its name, else the first that takes these parameters."""
    by_name = {one.name: one for one in questions_of(reader_class_of(state)).values() if _has_columns(one)}
    if name is not None:
        if name not in by_name:
            raise InputError("question", f"states of {state.key} do not answer {name!r}; {suggest(name, by_name)}")
        return by_name[name]
    for question in by_name.values():
        if values.keys() <= {*question.names()}:
            return question
    if not by_name:
        raise InputError("states", f"of {state.key} answer no question that gives columns")
    first = next(iter(by_name.values()))
    wrong = next((one for one in values if one not in first.names()), next(iter(values)))
    others = [one.name for one in questions().values() if wrong in one.names()]
    message = f"these are states of {state.key}, which answer {', '.join(by_name)} (got {literal(values[wrong])})"
    raise InputError(wrong, f"belongs to the question {' or '.join(others)}, but {message}")


def _has_columns(question: type[Question]) -> bool:
    """Whether the command line can show its answers: for single states, and not bytes."""
    return not (question.of_pairs or pa.types.is_binary(question.result))


def _questions_with(question: type[Question], values: Mapping[str, Any]) -> list[tuple[Question, dict[str, str]]]:
    """One question for each combination of parameter values, with the columns that distinguish them."""
    combinations: list[dict[str, Any]] = [{}]
    for name, value in values.items():
        several = value if name in question.each else [value]
        combinations = [{**before, name: one} for before in combinations for one in several]
    questions = [question.make(one) for one in combinations]
    each = [name for name in question.each if name in values]
    return [(one, {name: str(getattr(one, name)) for name in each}) for one in questions]


def _answers(
    question: Question, which: Mapping[str, str], states: list[State], window: WindowRequest, moment: Coverage,
    before: Callable[[], None],
) -> list[dict[str, Any]]:  # fmt: skip
    """Answer one question; if only changed groups have states, a group's newest state holds at the moment asked for."""
    before()
    since = window.within(moment, moment.since)
    if len(states) > 1:
        common_coverage(states)
    answers = answer(question, states, [since] * len(states), "last")
    rows = answers.to_pylist() if hasattr(answers, "to_pylist") else [row_of(question, answers)]
    return [{**which, **row} for row in rows]


def _moment_of(states: Sequence[State], moment: int) -> Coverage:
    covers = [state.covers for state in states if state.covers is not None]
    length = min(each.at - each.since for each in covers)
    return Coverage(moment, moment - length, covers[0].rows, covers[0].changed)
