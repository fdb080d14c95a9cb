"""Small groups whose answers are computed in columns from the entries of their panes, which a compiled walk lists.

For queries whose answers are more than a ranking of totals: subtracting, dividing and weighing happen outside of the
walk, in the functions that also process the answers of a backend.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64, read_only
from skyband.groups.small_groups.passes import PassInput, PassResult, SessionSpans

from skyband_totals.heavy_hitters.small_group_panes_kernels import entries_of_answers

_AT_ONCE = 1 << 21
"""The most entries that are listed at once, unless a single session has more."""


class PaneRule(NamedTuple):
    """How rows become entries."""

    pane: int
    """The length of a pane; an object's rows in a pane are one entry, at the time of the latest."""
    phase: int
    pairs: bool
    """Whether an amount is a value that counts once: the latest time of each (object, value) is kept."""
    apart: bool
    """Whether rows with and without `other` have separate entries."""
    together: int | float
    """The largest amount of an entry, in the type of the amounts."""
    most: int
    """The most entries of a small group."""


class PaneEntries(NamedTuple):
    """Entries, or rows, in columns; `others` is a second amount, or for pairs the latest time with one."""

    objects: Int64
    times: Int64
    amounts: Array
    others: Int64


class AnswerEntries(NamedTuple):
    """The entries in the longest windows of some answers: by answer, then object, then time or amount."""

    session: Int64
    """int64[a]: the session of each answer."""
    moment: Int64
    """int64[a]: the number of the moment of each answer."""
    answer: Int64
    """int64[e]: the answer of each entry."""
    entries: PaneEntries
    """int64[e] each, the amounts also float64[e]."""


class EntryAnswers(NamedTuple):
    """The session of each row, and the columns of the answers."""

    session: Int64
    columns: Sequence[Array | pa.Array]


def walk_panes(
    step: PassInput, old: PaneEntries, rows: PaneEntries, rule: PaneRule, slides: Int64, since: Int64,
    answers_of: Callable[[AnswerEntries], EntryAnswers],
) -> tuple[PassResult, PaneEntries]:  # fmt: skip
    """A pass of a `SmallGroupTable`: its result without entries, and the entries.

    slides: `Schedule.slides_with_longest_window`; since: int64[m], the start of the longest window of each moment.
    O(rows · entries of a group + entries of all answers); a few millions of these are listed at a time.
    """
    sizes, outgrew, parts, answers = list[Int64](), list[Int64](), list[PaneEntries](), list[EntryAnswers]()
    for sessions, first in _parts_of(step.session_spans, rule.most):
        size, beyond, entries, where, listing = entries_of_answers(
            sessions, tuple(old), (rows.times, rows.objects, read_only(rows.amounts), read_only(rows.others)),
            step.moments.at, since, slides, *rule,
        )  # fmt: skip
        sizes.append(size)
        outgrew.append(beyond)
        parts.append(PaneEntries(*entries))
        session, moment = where
        answers.append(answers_of(AnswerEntries(session + first, moment, listing[0], PaneEntries(*listing[1:]))))
    columns = [_joined(column) for column in zip(*(part.columns for part in answers), strict=True)]
    session = np.concatenate([part.session for part in answers])
    result = PassResult(np.concatenate(sizes), {}, np.concatenate(outgrew), session, columns)
    return result, PaneEntries(*map(np.concatenate, zip(*parts, strict=True)))


def _parts_of(sessions: SessionSpans, most: int) -> Iterator[tuple[SessionSpans, int]]:
    """The sessions in parts that list at most `_AT_ONCE` entries, or one session each, and the first number of each."""
    entries = np.minimum(sessions.size + sessions.stop - sessions.start, most)
    part = np.cumsum((sessions.end - sessions.begin) * entries) // _AT_ONCE
    cuts = np.flatnonzero(np.diff(part)) + 1
    for start, stop in zip([0, *cuts.tolist()], [*cuts.tolist(), len(part)], strict=True):
        yield SessionSpans(*(read_only(column[start:stop]) for column in sessions)), start


def _joined(parts: Sequence[Array | pa.Array]) -> Array | pa.Array:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return pa.concat_arrays([part for part in parts if isinstance(part, pa.Array)])
