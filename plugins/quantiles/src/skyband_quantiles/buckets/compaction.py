"""The step after each 1024 rows: expired rows are dropped, old raw rows become nodes, and old enough nodes unite.

A node unites with the one before it if together they have at most epsilon of the rows after both. So at most epsilon of
the rows since any moment are in a node that spans it. Steps only depend on the number of rows since the first: equal
rows result in equal histories, whatever was asked meanwhile.
"""

from typing import Any

from skyband.kernels.nested import nested_njit

from skyband_quantiles.buckets.history import (
    BASE,
    ENTRIES_END,
    FIXED,
    LAST,
    NODE_ROWS,
    NODE_START,
    NODES,
    PLACED,
    RAW,
    RAW_START,
    TABLED,
)
from skyband_quantiles.buckets.places import add, begin_table, count_row, drop_unused, has_room, key_of, write

DONE, MORE_RAW, MORE_PLACES, MORE_NODES, MORE_ENTRIES = range(5)
"""Why a kernel ends: it is done, or lacks room."""


@nested_njit
def clear(history: Any) -> None:
    """Drop everything except the time of the last row."""
    numbers = history.numbers
    last = numbers[LAST]
    for place in range(len(numbers)):
        numbers[place] = 0
    numbers[LAST] = last
    begin_table(history)
    numbers[TABLED] = 0
    forget_passed(history)


@nested_njit
def forget_passed(history: Any) -> None:
    """Mark no node as passed by any window."""
    for window in range(len(history.begun)):
        forget_passed_by(history, window)


@nested_njit
def forget_passed_by(history: Any, window: int) -> None:
    """Mark no node as passed by a window."""
    for place in range(history.older.shape[1]):
        history.older[window, place] = 0
    history.begun[window] = -(2**63)
    history.passed[window] = history.passed_rows[window] = 0


@nested_njit
def step(
    history: Any, bits: Any, raw_most: int, epsilon: float, longest: int, panes: Any, widest: int, cuts: Any
) -> Any:
    """Run the step, which can be repeated if it lacks room. panes: int64[3], see `end_of_pane`."""
    numbers = history.numbers
    _expire(history, numbers[LAST] - longest)
    if numbers[RAW] > raw_most:
        code = _give_places(history, bits, widest)
        if code == DONE:
            code = _make_nodes(history, raw_most, panes, cuts)
        if code != DONE:
            return code
    if numbers[NODES]:
        _unite(history, epsilon, panes)
        _check_passed(history)
    else:
        numbers[TABLED] = numbers[PLACED] = 0
    return DONE


@nested_njit
def _expire(history: Any, oldest: int) -> None:
    """Drop the nodes with their last row before a moment, then raw rows, then places without rows."""
    numbers = history.numbers
    emptied = False
    while numbers[NODES] and history.last[numbers[NODE_START]] < oldest:
        node = numbers[NODE_START]
        for entry in range(history.start[node], history.start[node] + history.size[node]):
            place, count = history.place[entry], history.count[entry]
            history.total[place] -= count
            emptied = emptied or history.total[place] == 0
            for window in range(len(history.begun)):
                if history.passed[window]:
                    history.older[window, place] -= count
        for window in range(len(history.begun)):
            if history.passed[window]:
                history.passed[window] -= 1
                history.passed_rows[window] -= history.rows[node]
        numbers[NODE_ROWS] -= history.rows[node]
        numbers[NODE_START] += 1
        numbers[NODES] -= 1
        numbers[FIXED] = max(numbers[FIXED] - 1, 0)
    while numbers[NODES] == 0 and numbers[RAW] and history.times[numbers[RAW_START]] < oldest:
        emptied = drop_raw(history) or emptied
    if emptied:
        drop_unused(history)


@nested_njit
def drop_raw(history: Any) -> bool:
    """Drop the oldest raw row; returns whether its place has no rows left."""
    numbers = history.numbers
    emptied = False
    if numbers[PLACED]:
        place = history.places[numbers[RAW_START]]
        history.total[place] -= 1
        numbers[PLACED] -= 1
        emptied = history.total[place] == 0
    numbers[RAW_START] += 1
    numbers[RAW] -= 1
    return emptied


@nested_njit
def _give_places(history: Any, bits: Any, widest: int) -> Any:
    """Count all raw rows in places."""
    numbers = history.numbers
    if not numbers[TABLED]:
        begin_table(history)
    while numbers[PLACED] < numbers[RAW]:
        if not has_room(history):
            return MORE_PLACES
        row = numbers[RAW_START] + numbers[PLACED]
        place = count_row(history, key_of(bits[row]), history.values[row], widest)
        history.places[row] = place
        numbers[PLACED] += 1
    return DONE


@nested_njit
def end_of_pane(panes: Any, time: int) -> Any:
    """The end of a time's pane: the next multiple of panes[0], moved by panes[1]; never if panes[2] is 0."""
    if not panes[2]:
        return 2**63 - 1
    return ((time - panes[1]) // panes[0] + 1) * panes[0] + panes[1]


@nested_njit
def _make_nodes(history: Any, raw_most: int, panes: Any, cuts: Any) -> Any:
    """Turn the oldest raw rows into nodes of at most 32 rows of one pane."""
    numbers = history.numbers
    old = numbers[RAW] - raw_most + BASE
    pack_nodes(history)
    if numbers[NODES] + old > len(history.first):
        return MORE_NODES
    if numbers[ENTRIES_END] + old > len(history.place):
        pack_entries(history)
        if numbers[ENTRIES_END] + old > len(history.place) * 7 // 8:
            return MORE_ENTRIES
    while numbers[RAW] > raw_most:
        node = numbers[NODE_START] + numbers[NODES]
        row = numbers[RAW_START]
        border = end_of_pane(panes, history.times[row])
        history.first[node], touched, taken = history.times[row], 0, 0
        for cut in range(len(cuts)):
            history.above[node, cut] = 0
        most = min(BASE, numbers[RAW])
        while taken < most and history.times[row + taken] < border:
            touched = add(history, np_int(history.places[row + taken]), 1, touched)
            for cut in range(len(cuts)):
                history.above[node, cut] += history.values[row + taken] > cuts[cut]
            taken += 1
        history.last[node], history.rows[node] = history.times[row + taken - 1], taken
        history.start[node], history.size[node] = numbers[ENTRIES_END], touched
        write(history, numbers[ENTRIES_END], touched)
        numbers[ENTRIES_END] += touched
        numbers[NODES] += 1
        numbers[NODE_ROWS] += taken
        numbers[RAW_START] += taken
        numbers[RAW] -= taken
        numbers[PLACED] -= taken
    return DONE


@nested_njit
def pack_nodes(history: Any) -> None:
    """Move the nodes to the start of their arrays."""
    numbers = history.numbers
    begin = numbers[NODE_START]
    if begin:
        for node in range(numbers[NODES]):
            _move_node(history, begin + node, node)
        numbers[NODE_START] = 0


@nested_njit
def _move_node(history: Any, node: int, to: int) -> None:
    history.first[to], history.last[to], history.rows[to] = history.first[node], history.last[node], history.rows[node]
    history.start[to], history.size[to] = history.start[node], history.size[node]
    for cut in range(history.above.shape[1]):
        history.above[to, cut] = history.above[node, cut]


@nested_njit
def pack_entries(history: Any) -> None:
    """Move the entries of the nodes together, in order."""
    numbers = history.numbers
    end = 0
    for node in range(numbers[NODE_START], numbers[NODE_START] + numbers[NODES]):
        start = history.start[node]
        history.start[node] = end
        for entry in range(start, start + history.size[node]):
            history.place[end], history.count[end] = history.place[entry], history.count[entry]
            end += 1
    numbers[ENTRIES_END] = end


@nested_njit
def _unite(history: Any, epsilon: float, panes: Any) -> None:
    """Unite neighbours from the oldest on. O(nodes + entries of those that unite)."""
    numbers = history.numbers
    begin, end = numbers[NODE_START] + numbers[FIXED], numbers[NODE_START] + numbers[NODES]
    younger = numbers[RAW]
    for node in range(begin, end):
        younger += history.rows[node]
    into, touched, open_ = begin - 1, 0, False
    for node in range(begin, end):
        younger -= history.rows[node]
        if into >= begin:
            small = history.rows[into] + history.rows[node] <= epsilon * younger
            alike = small or history.first[into] == history.last[node]
            if alike and history.last[node] < end_of_pane(panes, history.first[into]):
                if not open_:
                    touched = _take_apart(history, into, 0)
                    open_ = True
                touched = _take_apart(history, node, touched)
                history.rows[into] += history.rows[node]
                history.last[into] = history.last[node]
                for cut in range(history.above.shape[1]):
                    unknown = history.above[into, cut] < 0 or history.above[node, cut] < 0
                    history.above[into, cut] = -1 if unknown else history.above[into, cut] + history.above[node, cut]
                continue
        if open_:
            write(history, history.start[into], touched)
            history.size[into] = touched
            open_ = False
        into += 1
        if into != node:
            _move_node(history, node, into)
    if open_:
        write(history, history.start[into], touched)
        history.size[into] = touched
    numbers[NODES] = into + 1 - numbers[NODE_START]


@nested_njit
def _take_apart(history: Any, node: int, touched: int) -> Any:
    """Add the entries of a node to the one that is being built."""
    for entry in range(history.start[node], history.start[node] + history.size[node]):
        touched = add(history, np_int(history.place[entry]), history.count[entry], touched)
    return touched


@nested_njit
def np_int(place: int) -> Any:
    """A place as a plain integer, so that functions are compiled for a single type."""
    return 0 + place


@nested_njit
def _check_passed(history: Any) -> None:
    """If a passed node of a window united with one that is not passed, mark none as passed."""
    numbers = history.numbers
    for window in range(len(history.begun)):
        passed, rows = 0, 0
        if history.passed[window]:
            node = numbers[NODE_START]
            while passed < numbers[NODES] and history.last[node] < history.begun[window]:
                rows += history.rows[node]
                passed += 1
                node += 1
            if rows != history.passed_rows[window]:
                forget_passed_by(history, window)
            else:
                history.passed[window] = passed
