"""The history of several streams together, in numpy.

The nodes of all parts are sorted by last row and cut into cells, youngest first, each with at most epsilon of all
younger rows. In each cell, the nodes unite that start no earlier than the next older cell ends, and so do those that
span that end but start within that older cell; the others stay single. So few nodes span any moment, however many
parts there are: those of two cells, and those that span the end of one. The README of this distribution has the proof,
under "Unions".
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from skyband.arrays import Float64, Int64

from skyband_quantiles.buckets.contents import Contents, keys_of, without_nodes

_BASE, _PLACES = 32, 1024
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Nodes(NamedTuple):
    """Nodes, with the entries of each together."""

    first: Int64
    last: Int64
    rows: Int64
    above: Int64
    sizes: Int64
    place: Int64
    counts: Int64

    def take(self, chosen: Int64) -> "Nodes":
        """The nodes with these indices, in this order."""
        starts = np.cumsum(self.sizes) - self.sizes
        sizes = self.sizes[chosen]
        before = np.cumsum(sizes) - sizes
        entries = np.repeat(starts[chosen] - before, sizes) + np.arange(int(sizes.sum()))
        return Nodes(
            self.first[chosen], self.last[chosen], self.rows[chosen], self.above[chosen], sizes,
            self.place[entries], self.counts[entries],
        )  # fmt: skip


class Rules(NamedTuple):
    """The parameters on which a union depends."""

    epsilon: float
    raw_most: int
    widest: int
    panes: Any
    """(length, offset) of a pane, None if nodes may cross their borders."""
    cuts: Float64


def unite(parts: Sequence[Contents], oldest: int, rules: Rules) -> Contents:
    """The contents of all parts, without nodes that end before `oldest` and older rows. O(n log n) for n entries."""
    times, values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("times", "values"))
    order = np.lexsort((values, times))
    alive = order[times[order] >= oldest]
    times, values = times[alive], values[alive]
    nodes = _together([_alive(part, oldest) for part in parts])
    if not len(nodes.first) and len(times) <= rules.raw_most:
        return without_nodes(times, values, 0, len(rules.cuts))
    cut = max(len(times) - rules.raw_most, 0)
    if len(nodes.first):
        cut = max(cut, int(np.searchsorted(times, nodes.last.max())))
    shift, ids, least, largest, place = _places(parts, values, rules.widest, oldest)
    nodes = nodes._replace(place=place)
    old = _base_nodes(times[:cut], values[:cut], np.searchsorted(ids, keys_of(values[:cut]) >> shift), rules)
    nodes = _sorted(_together([nodes, old]))
    groups = _groups(nodes, len(times) - cut, rules)
    union = _sorted(_summed(nodes, groups))
    return Contents(
        0, shift, ids, least, largest, union.first, union.last, union.rows, union.sizes, union.place, union.counts,
        union.above, len(union.first), times[cut:], values[cut:],
    )  # fmt: skip


def _alive(part: Contents, oldest: int) -> Nodes:
    nodes = Nodes(part.first, part.last, part.rows, part.above, part.sizes, part.place, part.count)
    return nodes.take(np.flatnonzero(part.last >= oldest))


def _together(parts: Sequence[Nodes]) -> Nodes:
    return Nodes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _places(parts: Sequence[Contents], values: Float64, widest: int, oldest: int) -> Any:
    """(shift, ids, least, largest) of all buckets with rows, and int64[entries]: the places of all nodes' entries.

    Buckets of a part without a node are left out, so that every place has rows.
    """
    shift = max(part.shift for part in parts)
    entries = [part.place[np.repeat(part.last >= oldest, part.sizes)] for part in parts]
    used = [
        np.flatnonzero(np.bincount(place, minlength=len(part.ids))) for place, part in zip(entries, parts, strict=True)
    ]
    known = [(part, some) for part, some in zip(parts, used, strict=True)]
    keys = np.concatenate([*(part.ids[some] >> (shift - part.shift) for part, some in known), keys_of(values) >> shift])
    # np.unique hashes whole numbers, which is slow if their last bits are zeros.
    different, more = _once(np.sort(keys)), 0
    while len(different) > _PLACES and shift + more < widest:
        more += 1
        different = _once(different >> 1)
    where = np.searchsorted(different, keys >> more)
    least, largest = np.full(len(different), np.inf), np.full(len(different), -np.inf)
    np.minimum.at(least, where, np.concatenate([*(part.least[some] for part, some in known), values]))
    np.maximum.at(largest, where, np.concatenate([*(part.largest[some] for part, some in known), values]))
    became = np.split(where, np.cumsum([len(some) for some in used]))
    mapped = [new[np.searchsorted(some, place)] for place, some, new in zip(entries, used, became[:-1], strict=True)]
    return shift + more, different, least, largest, np.concatenate(mapped)


def _once(ids: Int64) -> Int64:
    """The distinct numbers, ascending."""
    return ids[np.append(True, ids[1:] != ids[:-1])[: len(ids)]]


def _panes(times: Int64, rules: Rules) -> Int64:
    if rules.panes is None:
        return np.zeros(len(times), np.int64)
    length, offset = rules.panes
    return (times - offset) // length


def _base_nodes(times: Int64, values: Float64, place: Int64, rules: Rules) -> Nodes:
    """Nodes of rows, each of at most 32 rows of one pane."""
    panes = _panes(times, rules)
    begins = np.flatnonzero(np.append(True, panes[1:] != panes[:-1])[: len(panes)])
    inside = np.arange(len(times)) - np.repeat(begins, np.diff(np.append(begins, len(times))))
    starts = np.flatnonzero(inside % _BASE == 0)
    rows = np.diff(np.append(starts, len(times)))
    above = values[:, None] > rules.cuts
    sums = (
        np.add.reduceat(above, starts, axis=0, dtype=np.int64) if len(starts) else np.empty((0, len(rules.cuts)), int)
    )
    owner = np.repeat(np.arange(len(starts)), rows)
    return _counted(times[starts], times[starts + rows - 1], rows, sums, owner, place, np.ones(len(times), np.int64))


def _counted(first: Int64, last: Int64, rows: Int64, above: Int64, owner: Int64, place: Int64, count: Int64) -> Nodes:
    """Nodes from entries in any order, possibly several of the same node and place."""
    order = np.lexsort((place, owner))
    owner, place, count = owner[order], place[order], count[order]
    fresh = np.append(True, (owner[1:] != owner[:-1]) | (place[1:] != place[:-1]))[: len(owner)]
    starts = np.flatnonzero(fresh)
    sums = np.add.reduceat(count, starts) if len(starts) else count
    return Nodes(first, last, rows, above, np.bincount(owner[starts], minlength=len(first)), place[starts], sums)


def _sorted(nodes: Nodes) -> Nodes:
    """Sort by last row, first row, number of rows and then contents, to be independent of the order of the parts."""
    word = (nodes.place.astype(np.uint64) + np.uint64(1)) * _MIX
    word = (word ^ (word >> np.uint64(29))) * nodes.counts.astype(np.uint64)
    starts = np.cumsum(nodes.sizes) - nodes.sizes
    mark = np.add.reduceat(word, starts) if len(starts) else word
    return nodes.take(np.lexsort((mark, nodes.rows, nodes.first, nodes.last)))


def _groups(nodes: Nodes, raw: int, rules: Rules) -> Int64:
    """int64[nodes]: the group of each node in the union.

    The nodes of a cell that start no earlier than the next older one ends are a group. The others all span that end, so
    they are few; those that start within the older cell are a group, and the rest stay single.
    """
    cells = _cells(nodes, raw, rules)
    count = int(cells[0]) + 1 if len(cells) else 0
    ends = np.full(count + 2, -(2**63))
    first_of_cell = np.append(True, cells[1:] != cells[:-1])[: len(cells)]
    ends[cells[first_of_cell]] = nodes.last[first_of_cell]  # the least last of a cell is that of its oldest node
    united, across = nodes.first >= ends[cells + 1], nodes.first >= ends[cells + 2]
    alone = 2 * count + np.arange(len(cells))
    return np.where(united, cells, np.where(across, count + cells, alone))


def _cells(nodes: Nodes, raw: int, rules: Rules) -> Int64:
    """int64[nodes], descending: cells from the youngest node, which is in cell 0, to the oldest."""
    rows, panes = nodes.rows.tolist(), _panes(nodes.last, rules).tolist()
    cells = np.zeros(len(rows), np.int64)
    younger, size, cell = raw, 0, 0
    for node in range(len(rows) - 1, -1, -1):
        crosses = node + 1 < len(rows) and panes[node] != panes[node + 1]
        if size and (crosses or size + rows[node] > rules.epsilon * younger):
            younger, size, cell = younger + size, 0, cell + 1
        cells[node] = cell
        size += rows[node]
    return cells


def _summed(nodes: Nodes, groups: Int64) -> Nodes:
    """A single node for each group."""
    different, owner = np.unique(groups, return_inverse=True)
    first, last = np.full(len(different), 2**63 - 1), np.full(len(different), -(2**63))
    rows = np.zeros(len(different), np.int64)
    np.minimum.at(first, owner, nodes.first)
    np.maximum.at(last, owner, nodes.last)
    np.add.at(rows, owner, nodes.rows)
    above = np.zeros((len(different), nodes.above.shape[1]), np.int64)
    unknown = np.zeros(above.shape, bool)
    np.add.at(above, owner, nodes.above)
    np.logical_or.at(unknown, owner, nodes.above < 0)
    above[unknown] = -1
    return _counted(first, last, rows, above, np.repeat(owner, nodes.sizes), nodes.place, nodes.counts)
