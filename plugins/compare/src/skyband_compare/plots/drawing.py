"""Which chart a table of answers has, told by its columns, whatever query gave them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from skyband.errors import InputError
from skyband.queries import make_query
from skyband.queries.query import Query

from skyband_compare.plots import axes, bands, pairs_and_matches, ranks
from skyband_compare.plots.answers import Answers, read
from skyband_compare.plots.filtering import chosen
from skyband_compare.plots.named_pairs import named_pair
from skyband_compare.plots.theme import altair


def plot(
    answers: Any,
    query: Query | Mapping[str, Any] | None = None,
    *,
    by: Sequence[str] = (),
    last: str | None = None,
    only: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Any:
    """A chart of answers over time, which a notebook shows: counts and sums as lines with their bands, ranks as a bump
    chart, pairs and matches as a table. Needs the extra `skyband[plot]`.

    What has no room is summed up or left out, and the lines below the title say so.

    Parameters
    ----------
    answers : table or DataFrame
        the answers of one query, as Arrow or pandas, polars or Spark have them
    query : Query or mapping, default None
        what was asked: its grouping columns and its name; else the columns before `at` or `time` are the groups
    by : sequence of str, default ()
        the grouping columns, in place of the query's
    last : str, default None
        only the moments within this length of the newest: "2 hours", or "1000 rows" for windows in rows
    only : mapping, default None
        by column the value, or a list of values, of the answers to draw
    title : str, default None
        what stands above; else the kind of the query

    Returns
    -------
    altair.Chart
        `chart.save("answers.png")` writes it to a file

    Raises
    ------
    EngineError
        the extra is not installed
    InputError
        these are no answers, or a column or value asked for is not there
    """
    alt = altair()
    asked = None if query is None else make_query(query)
    held = read(_table(answers), tuple(by) or (() if asked is None else asked.by))
    above = title or ("answers" if asked is None else asked.kind)
    wanted = {name: [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)
              for name, value in (only or {}).items()}  # fmt: skip
    held, notes = chosen(held, last, wanted)
    return draw(alt, held, above, notes)


def draw(alt: Any, answers: Answers, title: str, notes: Sequence[str] = ()) -> Any:
    """The chart of these answers, with `notes` the first of what is said of it."""
    if answers.unplaced:
        notes = [*notes, f"left out, with no moment or one beyond the years that charts have: {answers.unplaced:,}"]
    if not len(answers):
        return axes.empty(alt, title, notes)
    chart, said = _chart(alt, answers)
    return axes.finished(alt, chart, title, [axes.span(answers), *notes, *said])


def _chart(alt: Any, answers: Answers) -> tuple[Any, list[str]]:
    names = answers.after
    pair = named_pair(names)
    if ranks.RANK in names and pair is not None:
        return pairs_and_matches.draw_pairs(alt, answers, pair)
    if ranks.RANK in names:
        return ranks.draw(alt, answers)
    listed = pair is not None or "id" in names or "match" in names
    lines = None if listed else bands.lines_of(answers)
    return pairs_and_matches.draw_matches(alt, answers, pair) if lines is None else bands.draw(alt, answers, lines)


def _table(answers: Any) -> pa.Table:
    if isinstance(answers, pa.Table):
        return answers
    if isinstance(answers, pa.RecordBatch):
        return pa.Table.from_batches([answers])
    if hasattr(answers, "toArrow"):  # of Spark
        return answers.toArrow()
    try:
        return pa.table(answers)
    except (TypeError, ValueError, pa.ArrowException) as error:
        said = f"must be a table of Arrow, or a DataFrame of pandas, polars or Spark (got {type(answers).__name__})"
        raise InputError("answers", said) from error
