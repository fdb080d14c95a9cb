"""Splits answers into panels: one for each group, window and query, up to a readable number."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from attrs import frozen
from skyband.arrays import Array, Float64, Int64

from skyband_compare.plots.answers import Answers

MOST_PANELS = 12
SPLIT = ("query", "window", "range")
"""Columns that split a group's answers, if they exist."""
_LABEL = 60


@frozen(eq=False)
class Panels:
    """Answers split into panels.

    names: one for each panel, in drawing order. place: int64[n], the panel of each answer, -1 if it is left out. notes:
    what is left out, in words.
    """

    names: tuple[str, ...]
    place: Int64
    notes: tuple[str, ...]


def panels(answers: Answers, columns: Sequence[str], weight: Callable[[], Float64], largest: str) -> Panels:
    """A panel for each combination of values in `columns`, or those with the largest `weight`, float64[n]."""
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
        f"{len(names):,} values of {which}: the {MOST_PANELS} with {largest} are drawn, "
        f"{len(names) - MOST_PANELS:,} are left out (`only` draws others)"
    )
    return Panels(tuple(names[number] for number in order), _renumbered(place, order), (note,))


def combined(answers: Answers, columns: Sequence[str]) -> tuple[Int64, list[str]]:
    """int64[n], the place of each answer's values in a list of names."""
    if not columns or not len(answers):
        return np.zeros(len(answers), np.int64), [""]
    place, names = answers.codes(columns[0])
    for column in columns[1:]:  # two at a time, so that codes fit in 64 bits
        codes, values = answers.codes(column)
        pairs, place = np.unique(place * len(values) + codes, return_inverse=True)
        names = [f"{names[pair // len(values)]} · {values[pair % len(values)]}" for pair in pairs.tolist()]
    return place.astype(np.int64), unlike(names)


def unlike(names: Sequence[str], most: int = _LABEL) -> list[str]:
    """Distinct names of at most `most` letters: long ones, often paths, are cut in the middle."""
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
    """A sort key that puts "5 minutes" before "10 minutes"."""
    parts = "".join(mark if mark.isdigit() else f" {mark} " for mark in name).split()
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts)


def _renumbered(place: Array, order: Sequence[int]) -> Int64:
    new = np.full(int(place.max(initial=-1)) + 1 if len(place) else 1, -1, np.int64)
    for number, old in enumerate(order):
        if old < len(new):
            new[old] = number
    return new[place]
