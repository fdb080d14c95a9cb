"""The plot of answers: a band from low to high for each quantile, lines for limits; or only shares or distances."""

from typing import Any

import numpy as np
from skyband_compare.plots import bands
from skyband_compare.plots.answers import Answers

_BOUNDS = "the band is from low to high, the bounds that the sketch declares"


def draw(alt: Any, answers: Answers) -> tuple[Any, list[str]]:
    """The chart and its notes. Only skyband-compare calls this, and this module needs it."""
    limits: tuple[float, ...] = ()
    notes: list[str] = []
    answers = answers.where(~np.isnan(answers.numbers("value")))  # a window without rows has no value
    if "distance" in answers.after:
        apart = answers.table.column("distance").is_valid().to_numpy()
        if apart.all():
            chart, own_notes = bands.draw(alt, answers, _lines(answers, "distance", "distance", ()))
            return chart, own_notes
        names = np.unique(answers.where(apart).texts("distance")).tolist()
        notes += [f"the distances are on another scale, `only` draws them: distance = {name}" for name in names[:1]]
        answers = answers.where(~apart)
    if {"quantile", "above"} <= {*answers.after}:
        above = answers.numbers("above")
        shares = ~np.isnan(above)
        if not shares.all():
            limits = tuple(np.unique(above[shares]).tolist())
            answers = answers.where(~shares)
            notes += _notes(limits)
    of_quantiles = "quantile" in answers.after and not np.isnan(answers.numbers("quantile")).all()
    column = "quantile" if of_quantiles else "above"
    lines = _lines(answers, "value" if of_quantiles else "share above", column, limits)
    chart, notes_of_bands = bands.draw(alt, answers, lines)
    return chart, [*notes_of_bands, *notes]


def _lines(answers: Answers, name: str, column: str, limits: tuple[float, ...]) -> bands.Lines:
    """A line for each value of a column, with its bounds."""
    value, low, high = (answers.numbers(name) for name in ("value", "low", "high"))
    note = _BOUNDS if (low < high).any() else ""
    return bands.Lines({name: (value, low, high)}, note, (column,), limits)


def _notes(limits: tuple[float, ...]) -> list[str]:
    named = ", ".join(f"{limit:g}" for limit in limits)
    return [f"dashed: {named}; the shares above are on another scale, `only` draws them: above = {limits[0]:g}"]
