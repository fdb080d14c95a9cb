"""Chooses and draws the chart of a table of answers: as its query says, or by its columns."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from skyband.config.durations import parse
from skyband.errors import InputError, PluginError, suggest
from skyband.queries import make_query
from skyband.queries.presentation import load_presentation
from skyband.queries.query import Query
from skyband.registry.module_import import load

from skyband_compare.plots import axes, bands, pairs_and_matches, ranks
from skyband_compare.plots.answers import Answers, read, shown
from skyband_compare.plots.named_pairs import named_pair
from skyband_compare.plots.theme import altair


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


def plot(
    answers: Any,
    query: Query | Mapping[str, Any] | None = None,
    *,
    by: Sequence[str] = (),
    last: str | None = None,
    only: Mapping[str, Any] | None = None,
    title: str | None = None,
    chart: str | None = None,
) -> Any:
    """A chart of answers over time, for notebooks: counts and sums as lines with bands, ranks as a bump chart, pairs
    and matches as a table. Needs the extra `skyband[plot]`.

    Data that does not fit is aggregated or left out, and the lines below the title say so.

    Parameters
    ----------
    answers : table or DataFrame
        the answers of one query, from Arrow, pandas, Polars or Spark
    query : Query or mapping, default None
        the query, for its grouping columns and its name; else the columns before `at` or `time` are the groups
    by : sequence of str, default ()
        the grouping columns, instead of the query's
    last : str, default None
        only the moments within this length of the newest: "2 hours", or "1000 rows" for windows in rows
    only : mapping, default None
        the value, or list of values, of the answers to draw, by column
    title : str, default None
        the title; else the kind of the query
    chart : str, default None
        "bands", "ranks", "pairs" or "package.module:function"; else chosen by the query, or by the columns

    Returns
    -------
    altair.Chart
        `chart.save("answers.png")` writes it to a file

    Raises
    ------
    EngineError
        the extra is not installed
    InputError
        these are not answers, or a requested column or value is missing
    """
    alt = altair()
    own_query = None if query is None else make_query(query)
    answered = read(_table(answers), tuple(by) or (() if own_query is None else own_query.by))
    above = title or ("answers" if own_query is None else own_query.kind)
    values_by_name = {name: [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)
              for name, value in (only or {}).items()}  # fmt: skip
    answered, notes = chosen(answered, last, values_by_name)
    own_chart = None if own_query is None else load_presentation(type(own_query)).chart
    return draw(alt, answered, above, notes, chart or own_chart)


def draw(alt: Any, answers: Answers, title: str, notes: Sequence[str] = (), chart: str | None = None) -> Any:
    """The chart of these answers; its notes start with `notes`."""
    if answers.unplaced:
        notes = [*notes, f"left out, with no moment or one beyond the years that charts support: {answers.unplaced:,}"]
    if not len(answers):
        return axes.empty(alt, title, notes)
    own = None if chart is None else _own_chart(chart)
    chart_drawn, said = (own or _CHARTS.get(chart or "", _by_columns))(alt, answers)
    return axes.finished(alt, chart_drawn, title, [axes.span(answers), *notes, *said])


Drawn = tuple[Any, list[str]]


def _by_columns(alt: Any, answers: Answers) -> Drawn:
    names = answers.after
    if ranks.RANK in names:
        return _pairs(alt, answers) if named_pair(names) is not None else ranks.draw(alt, answers)
    is_list = named_pair(names) is not None or "id" in names or "match" in names
    return _pairs(alt, answers) if is_list else _bands(alt, answers)


def _ranks(alt: Any, answers: Answers) -> Drawn:
    """By ranks, if there are any: a query's states have none."""
    return ranks.draw(alt, answers) if ranks.RANK in answers.after else _by_columns(alt, answers)


def _pairs(alt: Any, answers: Answers) -> Drawn:
    pair = named_pair(answers.after)
    if pair is not None and ranks.RANK in answers.after:
        return pairs_and_matches.draw_pairs(alt, answers, pair)
    return pairs_and_matches.draw_matches(alt, answers, pair)


def _bands(alt: Any, answers: Answers) -> Drawn:
    lines = bands.lines_of(answers)
    return _pairs(alt, answers) if lines is None else bands.draw(alt, answers, lines)


_CHARTS: Mapping[str, Callable[[Any, Answers], Drawn]] = {"bands": _bands, "ranks": _ranks, "pairs": _pairs}


def _own_chart(place: str) -> Callable[[Any, Answers], Drawn] | None:
    """The function that a query names; None for a built-in chart. Raises PluginError for anything else."""
    if place in _CHARTS:
        return None
    if ":" not in place:
        raise PluginError(f"chart {place!r}: {suggest(place, _CHARTS)}, or name a function, package.module:function")
    function = load(place, "chart")

    def draw_own(alt: Any, answers: Answers) -> Drawn:
        chart = function(alt, answers)
        return chart if isinstance(chart, tuple) else (chart, [])

    return draw_own


def _table(answers: Any) -> pa.Table:
    if isinstance(answers, pa.Table):
        return answers
    if isinstance(answers, pa.RecordBatch):
        return pa.Table.from_batches([answers])
    if hasattr(answers, "toArrow"):  # Spark
        return answers.toArrow()
    try:
        return pa.table(answers)
    except (TypeError, ValueError, pa.ArrowException) as error:
        message = f"must be an Arrow table, or a DataFrame of pandas, Polars or Spark (got {type(answers).__name__})"
        raise InputError("answers", message) from error
