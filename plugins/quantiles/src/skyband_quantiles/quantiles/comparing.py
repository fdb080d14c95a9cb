"""The keys of quantiles that compare each window with an earlier one, and the problems between them."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Protocol

from skyband.config.calendar_lengths import Length
from skyband.config.literals import literal
from skyband.config.parameters import checked
from skyband.errors import Problem
from skyband.windows.window_parameters import lag_problems

from skyband_quantiles.sketch_parameters import MOST_CUTS, as_numbers, checked_list, fault_of_limit

KS, WASSERSTEIN, PSI = "ks", "wasserstein", "psi"
DISTANCES = (KS, WASSERSTEIN, PSI)
ADDED = ("previous", "difference", "difference_low", "difference_high")
"""The columns by which quantiles and shares are compared."""
_OF_BINS = "is infinite where a bin is empty, or depends on bins alone: write psi, which adds half a row to each bin"
_UNSUPPORTED = dict.fromkeys(("kl", "js", "hellinger", "jensen-shannon", "kullback-leibler"), _OF_BINS)
_UNSUPPORTED["total-variation"] = "compares the shares of objects: use the query heavy-hitters"
_NO_TEST = (
    "not offered: rows of a stream are no independent draws, and with many rows each change is significant; compare "
    "`low` with a limit, distance = ['ks']"
)
REFUSED = dict.fromkeys(("p_value", "test", "significance", "pvalue"), _NO_TEST)
"""Keys that people look for, each with what to write instead."""


class ComparingKeys(Protocol):
    """The keys of a query that are checked here."""

    windows: tuple[Length, ...]
    every: Length
    against: Any
    distance: tuple[str, ...]
    bins: tuple[float, ...] | int
    above: tuple[float, ...]
    emit: str | None


def distance_parameter() -> Any:
    """The field `distance`."""
    return checked(
        (),
        type="list of str",
        check=_check_distance,
        kw_only=True,
        converter=_as_names,
        bounds=f"some of {', '.join(DISTANCES)}",
        help="with `against`, how far apart the values of the two windows are: the largest difference of the "
        "distribution functions (ks), the area between them, or the population stability index",
    )


def bins_parameter() -> Any:
    """The field `bins`."""
    return checked(
        (),
        type="list of float, or int",
        check=_check_bins,
        kw_only=True,
        converter=as_numbers,
        bounds=f"ascending, at most {MOST_CUTS}",
        help="for psi, the upper ends of all bins but the last; or a number "
        "of bins, 10 for those between the deciles of the earlier window",
    )


def _as_names(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else value


def _check_distance(value: Any) -> str | list[Problem]:
    if not isinstance(value, tuple):
        return f'must be a list such as ["ks"] (got {literal(value)})'
    problems = []
    for place, name in enumerate(value):
        if name in value[:place]:
            problems.append(Problem(f"[{place}]", f"is listed twice (got {literal(name)})"))
        elif name not in DISTANCES:
            unsupported = isinstance(name, str) and _UNSUPPORTED.get(name.lower())
            message = unsupported or f"must be one of {', '.join(DISTANCES)}"
            problems.append(Problem(f"[{place}]", f"{message} (got {literal(name)})"))
    return problems


def _check_bins(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return None if 2 <= value <= MOST_CUTS else f"must be from 2 to {MOST_CUTS} bins (got {value})"
    problems = checked_list(fault_of_limit, "[0.2, 0.5], or a number of bins, such as 10", MOST_CUTS)(value)
    if problems or all(lower < upper for lower, upper in pairwise(value)):
        return problems
    return f"must be ascending (got {literal(list(value))})"


def comparing_problems(query: ComparingKeys, windows: Mapping[str, Length]) -> list[Problem]:
    """Problems of `against`, `distance` and `bins`; `windows` by their keys."""
    if query.against is None:
        message = 'needs `against`, the window to compare with: add against = "previous" or "7 days", or remove this'
        return [Problem("distance", message)] if query.distance else bins_problems(query)
    problems = lag_problems(query.against, query.every, windows)
    if query.emit is not None:
        message = "returns states instead of the answers that `against` compares: remove one of the two, and ask the"
        problems.append(Problem("emit", f"{message} states of two moments for their `distance`"))
    return [*problems, *bins_problems(query)]


def bins_problems(query: ComparingKeys) -> list[Problem]:
    """Problems of `bins`."""
    has_bins = query.bins != ()
    if (PSI in query.distance) != has_bins:
        message = "is required for psi: 10, or ascending numbers such as [0.2, 0.5]"
        return [Problem("bins", f"belongs to distance = ['psi'] (got {literal(query.bins)})" if has_bins else message)]
    ends = query.bins if isinstance(query.bins, tuple) else ()
    if len({*ends, *query.above}) > MOST_CUTS:
        message = f"may have at most {MOST_CUTS} numbers together with `above`, as rows above each are counted"
        return [Problem("bins", f"{message} (got {len({*ends, *query.above})})")]
    return []
