"""Which answers are drawn beside each other: a panel for each group, window and query, as many as one can look at."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from attrs import frozen
from skyband.arrays import Array, Float64, Int64

from skyband_compare.plots.answers import Answers

MOST_PANELS = 12
SPLIT = ("query", "window", "range")
"""Columns of answers that split a group's answers, where there are any."""
_LABEL = 60


@frozen(eq=False)
class Panels:
    """Answers cut into panels.

    names: one for each panel, in the order they are drawn. place: int64[n], the panel of each answer, -1 where it is
    left out. notes: what is left out, as sentences.
    """

    names: tuple[str, ...]
    place: Int64
    notes: tuple[str, ...]


def panels(answers: Answers, columns: Sequence[str], weight: Callable[[], Float64], largest: str) -> Panels:
    """A panel for each combination of values in `columns`, of very many those of the largest `weight`, float64[n]."""
    place, names = combined(answers, columns)
    if len(names) <= MOST_PANELS:
        order = sorted(range(len(names)), key=lambda number: natural(names[number]))
        return Panels(tuple(names[number] for number in order), _renumbered(place, order), ())
    weights = np.nan_to_num(weight(), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    most = np.full(len(names), -np.inf)
    np.maximum.at(most, place, weights)
    order = sorted(range(len(names)), key=lambda number: (-most[number], natural(names[number])))[:MOST_PANELS]
    which = " and ".join(columns)
    note = (
        f"{len(names):,} values of {which}: drawn are the {MOST_PANELS} with {largest}, "
        f"{len(names) - MOST_PANELS:,} are left out (`only` draws others)"
    )
    return Panels(tuple(names[number] for number in order), _renumbered(place, order), (note,))


def combined(answers: Answers, columns: Sequence[str]) -> tuple[Int64, list[str]]:
    """int64[n], for each answer the place of its values in a list of names."""
    if not columns or not len(answers):
        return np.zeros(len(answers), np.int64), [""]
    place, names = answers.codes(columns[0])
    for column in columns[1:]:  # two at a time, so that the codes of very many groups stay within 64 bits
        codes, values = answers.codes(column)
        pairs, place = np.unique(place * len(values) + codes, return_inverse=True)
        names = [f"{names[pair // len(values)]} · {values[pair % len(values)]}" for pair in pairs.tolist()]
    return place.astype(np.int64), unlike(names)


def unlike(names: Sequence[str], most: int = _LABEL) -> list[str]:
    """Names of at most so many letters, no two the same: of long ones, which are often paths, the middle goes."""
    found, times = dict[str, None](), Counter[str]()
    for name in names:
        short = name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most // 2) :]}"
        begun = short[: most - 10]
        while short in found:
            times[begun] += 1
            short = f"{begun}… ({times[begun] + 1})"
        found[short] = None
    return list(found)


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts "5 minutes" before "10 minutes"."""
    parts = "".join(mark if mark.isdigit() else f" {mark} " for mark in name).split()
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts)


def _renumbered(place: Array, order: Sequence[int]) -> Int64:
    new = np.full(int(place.max(initial=-1)) + 1 if len(place) else 1, -1, np.int64)
    for number, old in enumerate(order):
        if old < len(new):
            new[old] = number
    return new[place]
