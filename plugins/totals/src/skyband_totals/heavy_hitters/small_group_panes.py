"""Small groups whose answers are made, in columns, of what their panes have: one compiled walk lists it.

For queries whose answers are more than a ranking of totals: what is subtracted, divided or weighed is so outside of the
walk, by the functions that the answers of a backend go through as well.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64, read_only
from skyband.groups.small_groups.passes import PassInput, PassResult, SessionSpans

from skyband_totals.heavy_hitters.small_group_panes_kernels import entries_of_answers

_AT_ONCE = 1 << 21
"""Entries that are listed at once, at most, where one session has no more."""


class PaneRule(NamedTuple):
    """How rows become entries."""

    pane: int
    """Length: the rows of an object in one pane are one entry, at the time of the latest."""
    phase: int
    pairs: bool
    """Whether an amount is a thing that counts once: of an object and it the latest time is kept, whatever the pane."""
    apart: bool
    """Whether rows that have something of `other` are no entry with those that have not."""
    together: int | float
    """No entry has more than this, in the type of the amounts."""
    most: int
    """Entries of a small group."""


class PaneEntries(NamedTuple):
    """Entries, or rows, in columns: `others` is a second amount, or of pairs the latest time that has something."""

    objects: Int64
    times: Int64
    amounts: Array
    others: Int64


class AnswerEntries(NamedTuple):
    """Of some answers the entries in the longest window of each: by answer, then object, then time or amount."""

    session: Int64
    """int64[a]: of each answer its session."""
    moment: Int64
    """int64[a]: of each answer the number of its moment."""
    answer: Int64
    """int64[e]: the answer that each entry is in."""
    entries: PaneEntries
    """int64[e] each, the amounts also float64[e]."""


class EntryAnswers(NamedTuple):
    """What is made of them: of each row its session, and the columns of the answers."""

    session: Int64
    columns: Sequence[Array | pa.Array]


def walk_panes(
    step: PassInput, old: PaneEntries, rows: PaneEntries, rule: PaneRule, slides: Int64, since: Int64,
    answers_of: Callable[[AnswerEntries], EntryAnswers],
) -> tuple[PassResult, PaneEntries]:  # fmt: skip
    """A pass of a `SmallGroupTable`: its result without entries, and these.

    slides: `Schedule.slides_with_longest_window`; since: int64[m], where the longest window of each moment begins.
    O(rows · entries of a group + entries of all answers); some millions of these are listed at a time.
    """
    sizes, outgrew, parts, answers = list[Int64](), list[Int64](), list[PaneEntries](), list[EntryAnswers]()
    for sessions, first in _some_at_once(step.session_spans, rule.most):
        size, beyond, entries, where, found = entries_of_answers(
            sessions, tuple(old), (rows.times, rows.objects, read_only(rows.amounts), read_only(rows.others)),
            step.moments.at, since, slides, *rule,
        )  # fmt: skip
        sizes.append(size)
        outgrew.append(beyond)
        parts.append(PaneEntries(*entries))
        session, moment = where
        answers.append(answers_of(AnswerEntries(session + first, moment, found[0], PaneEntries(*found[1:]))))
    columns = [_joined(column) for column in zip(*(part.columns for part in answers), strict=True)]
    session = np.concatenate([part.session for part in answers])
    result = PassResult(np.concatenate(sizes), {}, np.concatenate(outgrew), session, columns)
    return result, PaneEntries(*map(np.concatenate, zip(*parts, strict=True)))


def _some_at_once(sessions: SessionSpans, most: int) -> Iterator[tuple[SessionSpans, int]]:
    """The sessions in parts that list so many entries, or one session's, and the number of the first of each."""
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
