"""Quantiles and shares of the rows since a moment, with certain bounds.

For each bucket, `sure` rows are known to be since the moment, and `maybe` rows are in a node that spans it. Whichever
of these count, the value is not below `low`, its value if all of them below it count and none above; likewise for
`high`. Shares are bounded in the same way.
"""

from math import floor
from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit
from skyband.kernels.selection import kth

from skyband_quantiles.buckets.compaction import forget_passed_by
from skyband_quantiles.buckets.history import FIXED, NODE_START, NODES, NOTHING, ORDERED, RAW, RAW_START
from skyband_quantiles.buckets.places import put_in_order
from skyband_quantiles.compiled_ranks import rank_of


@nested_njit
def middle(least: float, largest: float) -> float:
    """The value with equal relative distances to two of one sign, without a product of both, which may overflow."""
    if least == largest:
        return least
    return 0.0 if least == 0 or largest == 0 else least * (2 / (1 + least / largest))


@nested_njit
def first_raw(history: Any, since: int) -> Any:
    """The first raw row at or after a moment. O(log raw)."""
    low = history.numbers[RAW_START]
    high = low + history.numbers[RAW]
    while low < high:
        half = (low + high) >> 1
        if history.times[half] < since:
            low = half + 1
        else:
            high = half
    return low


@nested_njit
def in_raw(history: Any, since: int) -> bool:
    """Whether all rows since a moment are raw."""
    numbers = history.numbers
    return numbers[NODES] == 0 or history.last[numbers[NODE_START] + numbers[NODES] - 1] < since


@nested_njit
def answer_raw(history: Any, since: int, parts: Any, ascending: Any, limits: Any, values: Any, shares: Any) -> Any:
    """The exact answer from raw rows only; returns their number."""
    begin = first_raw(history, since)
    rows = history.numbers[RAW_START] + history.numbers[RAW] - begin
    if rows == 0:
        return 0
    if len(ascending):
        scratch = np.empty(rows)
        for row in range(rows):
            scratch[row] = history.values[begin + row]
        low = 0
        for turn in range(len(ascending)):
            place = ascending[turn]
            rank = rank_of(parts[place], rows) - 1
            found = kth(scratch, low, rows, rank)
            low = rank
            for column in range(3):
                values[place, column] = found
    for place in range(len(limits)):
        above = 0
        for row in range(rows):
            above += history.values[begin + row] > limits[place]
        for column in range(3):
            shares[place, column] = above / rows
    return rows


@nested_njit
def pass_nodes(history: Any, window: int, since: int) -> None:
    """Mark nodes with their last row before a moment as passed by a window, with their rows by place in `older`."""
    numbers = history.numbers
    if since < history.begun[window]:
        forget_passed_by(history, window)
    begin, end = numbers[NODE_START], numbers[NODE_START] + numbers[NODES]
    node = begin + history.passed[window]
    stop = node
    while stop < end and history.last[stop] < since:
        history.passed_rows[window] += history.rows[stop]
        stop += 1
    history.begun[window], history.passed[window] = since, stop - begin
    if stop == node:
        return
    older = history.older[window]
    between = history.start[stop - 1] + history.size[stop - 1] - history.start[node]
    younger = numbers[RAW] if stop == end else history.start[end - 1] + history.size[end - 1] - history.start[stop]
    if stop < end:
        younger += numbers[RAW] + numbers[ORDERED]
    if between <= younger:
        for entry_node in range(node, stop):
            for entry in range(history.start[entry_node], history.start[entry_node] + history.size[entry_node]):
                older[history.place[entry]] += history.count[entry]
        return
    for number in range(numbers[ORDERED]):
        place = history.order[number]
        older[place] = history.total[place]
    for row in range(numbers[RAW_START], numbers[RAW_START] + numbers[RAW]):
        older[history.places[row]] -= 1
    for entry_node in range(stop, end):
        for entry in range(history.start[entry_node], history.start[entry_node] + history.size[entry_node]):
            older[history.place[entry]] -= history.count[entry]


@nested_njit
def unknown_rows(history: Any, window: int, since: int, by_place: bool) -> Any:
    """(rows, likely) of the nodes that span a moment; `by_place`: also in `maybe`, `likely`.

    There is at most one of them, except for nodes of a union.
    """
    numbers = history.numbers
    node = numbers[NODE_START] + history.passed[window]
    end, unlike = numbers[NODE_START] + numbers[NODES], numbers[NODE_START] + numbers[FIXED]
    rows, likely = 0, 0.0
    while node < end and (node < unlike or history.first[node] < since):
        if history.first[node] < since:
            span = float(history.last[node]) - float(history.first[node]) + 1.0
            part = (float(history.last[node]) - float(since) + 1.0) / span
            rows += history.rows[node]
            likely += part * history.rows[node]
            if by_place:
                for entry in range(history.start[node], history.start[node] + history.size[node]):
                    history.maybe[history.place[entry]] += history.count[entry]
                    history.likely[history.place[entry]] += part * history.count[entry]
        node += 1
    return rows, likely


@nested_njit
def add_up(history: Any, window: int) -> Any:
    """Write the sums of sure, maybe and likely rows below each bucket with rows, by id; returns their number.

    `touched` has their places. `maybe` and `likely` are reset to zeros.
    """
    put_in_order(history)
    older, order, used = history.older[window], history.order, 0
    sure, maybe, likely = 0, 0, 0.0
    for number in range(history.numbers[ORDERED]):
        place = order[number]
        here = history.total[place] - older[place]
        if here <= 0:
            continue
        history.sure_below[used], history.maybe_below[used], history.likely_below[used] = sure, maybe, likely
        history.touched[used] = place
        used += 1
        sure += here - history.maybe[place]
        maybe += history.maybe[place]
        likely += history.likely[place]
        history.maybe[place], history.likely[place] = 0, 0.0
    history.sure_below[used], history.maybe_below[used], history.likely_below[used] = sure, maybe, likely
    return used


@nested_njit
def answer(history: Any, window: int, since: int, parts: Any, limits: Any, cuts: Any, values: Any, shares: Any) -> Any:
    """Write quantiles and shares since a moment from nodes and raw rows; returns the likely number of rows."""
    pass_nodes(history, window, since)
    maybe, likely = unknown_rows(history, window, since, True)
    used = add_up(history, window)
    sure = history.sure_below[used]
    rows = sure + np.int64(floor(likely))
    if rows == 0:
        return 0
    for place in range(len(parts)):
        _quantile(history, used, parts[place], rows, sure, maybe, values[place])
    for place in range(len(limits)):
        _share(history, used, limits[place], sure, maybe, shares[place])
        for cut in range(len(cuts)):
            if cuts[cut] == limits[place]:
                _known_share(history, window, since, cut, cuts[cut], sure, maybe, sure + likely, shares[place])
    return rows


@nested_njit
def _quantile(history: Any, used: int, part: int, rows: int, sure: int, maybe: int, found: Any) -> None:
    """Write a quantile's value, low and high, with the worst case of unknown rows below or above it."""
    low = _last_below(history, used, part, sure)
    high = _first_reached(history, used, part, sure, maybe)
    least, largest = history.least[history.touched[low]], history.largest[history.touched[high]]
    likely = low
    if low != high:
        rank, begin, end = rank_of(part, rows), 0, used - 1
        while begin < end:
            half = (begin + end) >> 1
            if history.sure_below[half + 1] + np.int64(floor(history.likely_below[half + 1])) >= rank:
                end = half
            else:
                begin = half + 1
        likely = begin
    value = middle(history.least[history.touched[likely]], history.largest[history.touched[likely]])
    found[0], found[1], found[2] = min(max(value, least), largest), least, largest


@nested_njit
def _last_below(history: Any, used: int, part: int, sure: int) -> Any:
    """The last bucket with fewer rows below it than the rank, if of the unknown rows exactly those below it count."""
    begin, end = 0, used - 1
    while begin < end:
        half = (begin + end + 1) >> 1
        maybe = history.maybe_below[half]
        if history.sure_below[half] + maybe < rank_of(part, sure + maybe):
            begin = half
        else:
            end = half - 1
    return begin


@nested_njit
def _first_reached(history: Any, used: int, part: int, sure: int, maybe: int) -> Any:
    """The first bucket with enough sure rows up to it for the rank, if exactly the unknown rows above it count."""
    begin, end = 0, used - 1
    while begin < end:
        half = (begin + end) >> 1
        if history.sure_below[half + 1] >= rank_of(part, sure + maybe - history.maybe_below[half + 1]):
            end = half
        else:
            begin = half + 1
    return begin


@nested_njit
def _share(history: Any, used: int, limit: float, sure: int, maybe: int, found: Any) -> None:
    """Write the share of rows above a limit, low and high: of the limit's own bucket, none or all may be above."""
    begin, end = 0, used
    while begin < end:
        half = (begin + end) >> 1
        if history.largest[history.touched[half]] > limit:
            end = half
        else:
            begin = half + 1
    whole, part = begin, 0.0  # from bucket `whole` on all rows are above
    if begin < used and history.least[history.touched[begin]] <= limit:
        least, largest = history.least[history.touched[begin]], history.largest[history.touched[begin]]
        whole, part = begin + 1, min(max((largest - limit) / (largest - least), 0.0), 1.0)
    above, may = sure - history.sure_below[whole], maybe - history.maybe_below[whole]
    here, perhaps = history.sure_below[whole] - history.sure_below[begin], maybe - may - history.maybe_below[begin]
    low = above / (sure + maybe - may) if above else 0.0
    most = above + here + may + perhaps
    high = most / (sure + may + perhaps) if most else 0.0
    likely = history.likely_below[used] - history.likely_below[whole]
    likely_here = history.likely_below[whole] - history.likely_below[begin]
    value = (above + likely + (here + likely_here) * part) / (sure + history.likely_below[used])
    found[0], found[1], found[2] = min(max(value, low), high), low, high


@nested_njit
def _known_share(
    history: Any, window: int, since: int, cut: int, limit: float, sure: int, maybe: int, rows: float, found: Any
) -> None:
    """Like `_share` for a limit in `cuts`: nodes know their rows above it, unless they are older than the cut."""
    numbers = history.numbers
    above, may, likely = 0, 0, 0.0
    end = numbers[NODE_START] + numbers[NODES]
    for node in range(numbers[NODE_START] + history.passed[window], end):
        known = history.above[node, cut]
        if known == NOTHING:
            return
        if history.first[node] < since:
            may += known
            span = float(history.last[node]) - float(history.first[node]) + 1.0
            likely += known * ((float(history.last[node]) - float(since) + 1.0) / span)
        else:
            above += known
    for row in range(numbers[RAW_START], numbers[RAW_START] + numbers[RAW]):
        above += history.values[row] > limit
    low = above / (sure + maybe - may) if above else 0.0
    high = (above + may) / (sure + may) if above + may else 0.0
    value = (above + likely) / rows if maybe else low
    found[0], found[1], found[2] = min(max(value, low), high), low, high
