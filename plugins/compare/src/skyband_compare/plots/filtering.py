"""Filters answers: the last hours, or some groups."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from skyband.config.durations import parse
from skyband.errors import InputError, suggest

from skyband_compare.plots.answers import Answers, shown


def chosen(answers: Answers, last: str | None, only: Mapping[str, Sequence[Any]]) -> tuple[Answers, list[str]]:
    """The answers of the `last` length before the newest moment, with one of the values of `only` for each column.

    Also returns notes on the filters. Raises InputError if a column, a value or the length is invalid.
    """
    notes = []
    for name, values in only.items():
        answers = _with(answers, name, [shown(value) for value in values])
        notes.append(f"only {name} = {' or '.join(shown(value) for value in values)}")
    if last is None or not len(answers):
        return answers, notes
    try:
        length = parse(last)
    except ValueError as error:
        raise InputError("last", str(error)) from error
    if length.rows != answers.in_rows or length.length < 1:
        message = "rows, like the moments" if answers.in_rows else "a length of time above 0, like the moments"
        raise InputError("last", f"must be in {message} (got {last!r})")
    newest = int(answers.at.max())
    return answers.where(answers.at > newest - length.length), [*notes, f"the last {length}"]


def _with(answers: Answers, name: str, values: Sequence[str]) -> Answers:
    if name not in answers.table.column_names:
        raise InputError("only", f"there is no column {name!r}; {suggest(name, answers.table.column_names)}")
    if not len(answers):
        return answers
    codes, texts = answers.codes(name)
    for value in values:
        if value not in texts:
            raise InputError("only", f"no answer has {name} = {value!r}; {_some(value, texts)}")
    mask = np.array([text in values for text in texts])
    return answers.where(mask[codes])


def _some(value: str, texts: Sequence[str]) -> str:
    hint = suggest(value, texts)
    return hint if len(hint) <= 200 else f"there are {len(texts):,} others, such as {texts[0]!r}"
