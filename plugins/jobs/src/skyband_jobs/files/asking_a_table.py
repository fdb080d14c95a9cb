"""Implements `skyband ask`: any windows of a table of states, with groups merged as requested. Loads no numba."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import pyarrow as pa
from attrs import frozen
from skyband.config.durations import Duration, parse
from skyband.config.literals import literal
from skyband.config.parameters import Parameter
from skyband.errors import InputError, suggest
from skyband.states.asking import answer, check_window, questions_of, reader_class_of, row_of
from skyband.states.compatibility import check_alike, common_coverage
from skyband.states.coverage import Coverage
from skyband.states.functions import questions
from skyband.states.question import Question
from skyband.states.since_or_last import WindowRequest, moment_named
from skyband.states.state import State, read_state

from skyband_jobs.files.states_table import GroupState, StatesTable, as_key
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
    against: str | None = None
    """The other moment, if states of two are compared."""
    left_out: int = 0
    """The groups that have a state at one of the two moments only."""


@frozen
class QuestionParameter:
    """A parameter of the questions that installed backends' states answer."""

    question: str
    """The first question that has it."""
    parameter: Parameter
    several: bool
    """Whether it may be given several times."""


def parameters(of_pairs: bool = False) -> dict[str, QuestionParameter]:
    """The parameters of questions about single states, or about two, by name."""
    by_name: dict[str, QuestionParameter] = {}
    for question in questions().values():
        for one in question.parameters() if question.of_pairs == of_pairs else ():
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
    against: str | None = None,
) -> Answers:  # fmt: skip
    """As `ask_table`, for Parquet files. Raises InputError too where there are none, or a column is missing.

    `against`: a length, for the states of this much before; or other Parquet files of states, at their newest moment.
    """
    table = StatesTable(path, column)
    if against is None:
        return ask_table(table, lasts, at, by, united, question, values)
    if Path(against).exists():
        return _compare(table, StatesTable(against, column), None, lasts, at, by, united, question, values)
    try:
        lag = parse(against)
    except ValueError:
        message = f'must be a length such as "7 days", or files of states (got {literal(against)})'
        raise InputError("against", message) from None
    return _compare(table, table, lag, lasts, at, by, united, question, values)


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
    named = _grouping(table, by)
    at_moment, groups = table.as_of(None if at is None else moment_named("at", at))
    questions = _questions_with(_question_class(groups[0].state, question, values), values)
    for window in windows:
        check_window(questions[0][0], window)
    moment = _moment_of([each.state for each in groups], at_moment)
    parts = _parts(groups, named, by, united)
    answered = [(group, [each.state for each in states]) for group, states in parts]
    answers = tuple(
        Row(group, str(window.last or moment.length), numbers)
        for group, states in answered
        for window in windows
        for one, which in questions
        for numbers in _answers(one, which, states, window, moment, before_each)
    )
    whole = questions[0][0].whole_numbers
    return Answers(moment.show(moment.at), tuple(named) if by or not united else (), answers, whole)


def _compare(
    table: StatesTable, other: StatesTable, lag: Duration | None, lasts: Sequence[str], at: str | None,
    by: Sequence[str], united: bool, question: str | None, values: Mapping[str, Any],
) -> Answers:  # fmt: skip
    """The answers of a question about two states: those of a moment, and of `lag` before or of another table."""
    windows = [WindowRequest.read(None, last) for last in lasts] or [WindowRequest()]
    named = _grouping(table, by)
    if other.grouping != table.grouping:
        message = f"has states by {', '.join(other.grouping) or 'no column'}"
        raise InputError("against", f"{message}, the first {', '.join(table.grouping) or 'none'}: they must be equal")
    at_moment, groups = table.as_of(None if at is None else moment_named("at", at))
    state = groups[0].state
    (question_of_two, which), *_ = _questions_with(_question_class(state, question, values, of_pairs=True), values)
    if lag is not None and state.covers is not None and lag.rows != state.covers.rows:
        unit = "rows" if state.covers.rows else "time"
        raise InputError("against", f"must be in {unit}, as the windows of these states are (got {lag})")
    try:
        then, earlier = other.as_of(None if lag is None else at_moment - lag.length)
    except InputError as error:
        raise InputError("against", error.message) from error
    moments = [_moment_of([each.state for each in own], when) for own, when in ((groups, at_moment), (earlier, then))]
    before = {_key(group): states for group, states in _parts(earlier, named, by, united)}
    rows, pairs = list[Row](), 0
    parts = _parts(groups, named, by, united)
    for group, states in parts:
        if _key(group) not in before:
            continue
        pairs += 1
        pair = [_united(states), _united(before[_key(group)])]
        check_alike(pair, "against")
        for window in windows:
            since = [window.within(moment, moment.since) for moment in moments]
            numbers = row_of(question_of_two, answer(question_of_two, pair, since, "last"))
            rows.append(Row(group, str(window.last or moments[0].length), {**which, **numbers}))
    if not rows:
        raise InputError("against", f"no group of {moments[0].show(at_moment)} has a state at {moments[1].show(then)}")
    columns = tuple(named) if by or not united else ()
    left_out = len(parts) + len(before) - 2 * pairs
    now, past = moments[0].show(at_moment), moments[1].show(then)
    return Answers(now, columns, tuple(rows), question_of_two.whole_numbers, past, left_out)


def _united(states: Sequence[GroupState]) -> State:
    """One state of these, whose rows are counted together."""
    if len(states) == 1:
        return states[0].state
    from skyband.states.uniting import union  # on use: it creates backends

    return read_state(union([each.blob for each in states]))


def _key(group: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(as_key(value) for value in group.values())


def _grouping(table: TableOfStates, by: Sequence[str]) -> list[str]:
    """The columns that name the groups of the answers. Raises InputError for an unknown one."""
    for name in by:
        if name not in table.grouping:
            raise InputError("by", f"the states have no grouping column {name!r}; {suggest(name, table.grouping)}")
    if len(set(by)) < len(by):
        raise InputError("by", f"names a column twice (got {', '.join(by)})")
    return list(by) if by else table.grouping


def _parts(
    groups: Sequence[GroupState], named: Sequence[str], by: Sequence[str], united: bool
) -> list[tuple[dict[str, Any], list[GroupState]]]:
    """The groups of the answers in order, each with its states; the union of all comes last."""
    parts: dict[tuple[Any, ...], list[GroupState]] = {}
    if by or not united:
        for each in groups:
            parts.setdefault(tuple(each.group[name] for name in named), []).append(each)
    ordered = sorted(parts, key=lambda key: [*map(str, key)])
    answered = [(dict(zip(named, key, strict=True)), parts[key]) for key in ordered]
    return [*answered, ({}, list(groups))] if united else answered


def to_json(answers: Answers) -> str:
    """The answers as JSON: the moment, and an object for each row."""
    rows = [json_value({**row.group, "last": row.window, **row.numbers}) for row in answers.rows]
    against = {} if answers.against is None else {"against": answers.against}
    return json.dumps({"at": answers.at, **against, "answers": rows}, indent=2, default=str)


def _question_class(
    state: State, name: str | None, values: Mapping[str, Any], of_pairs: bool = False
) -> type[Question]:
    """The question by its name, else the first that takes these parameters."""
    all_questions = questions_of(reader_class_of(state))
    by_name = {one.name: one for one in all_questions.values() if _has_columns(one) and one.of_pairs == of_pairs}
    if name is not None:
        if name in all_questions and all_questions[name].of_pairs and not of_pairs:
            message = 'compares two states: add --against "7 days", or name another table of states there'
            raise InputError("question", f"{message} (got {name!r})")
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
    """Whether the command line can show its answers: not bytes, and not several numbers in a column."""
    kind = question.result
    nested = pa.types.is_struct(kind) and any(pa.types.is_struct(field.type) for field in kind)
    return not (nested or pa.types.is_binary(kind))


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
