"""The k-skyband in (score, expiry): the structure from which every shared ranker answers.

An item *dominates* another iff it ranks before it and expires no earlier; on equal expiry, ranking before is
enough. An item dominated by k others can never again be among the best k alive, so only the others, the
*k-skyband*, are kept. Insertions are buffered, and the skyband is cleaned up once per buffer.

Two total orders, both held as arrays:
    B (`items`)  score descending, tie ascending, key ascending, then earlier insertion first: the order of answers.
    E (`order`)  expiry ascending, and on equal expiry the exact reverse of B. `order` holds positions in B,
                 `ends` the corresponding expiries.
Invariants after `flush`:
    1. E is the exact reverse of B on equal expiry; otherwise the cleanup would keep too much.
    2. `items` is the k-skyband of everything ever added: minimal, each kept item has fewer than k dominators.
    3. The k-th best item alive at moment e is B[k − 1 + r], r = items with expiry before e (`lower_bound`).
Between flushes, 3 refers to the items at the last flush. Later items only raise it, and expired items that
are still present do not change it for any e >= now, so a stale bound stays valid and expiry may be lazy.

Complexity, for n kept items and b buffered ones: `add` O(1), `flush` O(n + b log b), `lower_bound`, `crop` and
`admits` O(log n), `topk` O(k + items passed over). The skyband of N random items has about k (1 + ln(N / k)) items.

From compiled loops, use the functions over a `Band`, a tuple of flat arrays. `flush` may return a band with new,
larger arrays; the other functions write in place:

    if kskyband_kernels.is_full(band):
        band = kskyband_kernels.flush(band)
    kskyband_kernels.add(band, score, expiry, tie, key)

From Python, use `KSkyband` of skyband.kernels.kskyband.

Source: SWOOP (arXiv 1711.02476), section 6: minimal stock, lemmas 3 and 6.1, the cleanup of algorithm 5. The
views of MTopS, chapter 5, and the subsketches of k-SKB, section 4, are the same set.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from skyband.arrays import TIME_MIN
from skyband.kernels.nested import nested_njit, shared_njit

ITEM = np.dtype([("score", np.float64), ("expiry", np.int64), ("tie", np.int64), ("key", np.int64)])
"""An item: scores rank descending, then `tie` and `key` ascending; alive at moment e iff expiry >= e."""

K, SIZE, PENDING, NOW, ROOM = range(5)

_FEW = 64
"""The initial capacity of a new band."""


class Band(NamedTuple):
    """The state of one k-skyband, for compiled code.

    counts: int64[5], indexed by K, SIZE (kept items), PENDING (buffered items), NOW, ROOM (least buffer size)
    items:  ITEM[capacity], the first SIZE of them in order B
    order:  int64[capacity], the first SIZE: positions in `items`, in order E
    ends:   int64[capacity], the first SIZE: the expiries in order E, ascending
    buffer: ITEM[at least max(ROOM, SIZE / 4)], the first PENDING: added since the last flush
    """

    counts: Any
    items: Any
    order: Any
    ends: Any
    buffer: Any


def new(k: int, room: int = 64) -> Band:
    """An empty band for the best `k`, which buffers at least `room` items."""
    counts, kept = np.array([k, 0, 0, TIME_MIN, room], np.int64), min(room, _FEW)
    return Band(counts, np.zeros(kept, ITEM), np.zeros(kept, np.int64), np.zeros(kept, np.int64), np.zeros(room, ITEM))


@shared_njit
def is_full(band):  # type: ignore[no-untyped-def]
    """Whether `add` needs a `flush` first."""
    return band.counts[PENDING] == len(band.buffer)


@shared_njit
def add(band, score, expiry, tie, key):  # type: ignore[no-untyped-def]
    """Buffer one item; the band must not be full. It counts from the next flush. `score` must not be NaN."""
    counts = band.counts
    slot = band.buffer[counts[PENDING]]
    slot.score = score
    slot.expiry = expiry
    slot.tie = tie
    slot.key = key
    counts[PENDING] += 1


@shared_njit
def advance(band, now):  # type: ignore[no-untyped-def]
    """Make items that expire before `now` drop at the next flush; `now` never goes back."""
    band.counts[NOW] = max(band.counts[NOW], now)


@nested_njit
def ended(band, expiry):  # type: ignore[no-untyped-def]
    """The number of kept items that expire before `expiry`: the rank in E of the first that does not."""
    low, high, ends = 0, band.counts[SIZE], band.ends
    while low < high:
        middle = (low + high) >> 1
        if ends[middle] < expiry:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def lower_bound(band, expiry):  # type: ignore[no-untyped-def]
    """The k-th best score at moment `expiry`, −inf if fewer are alive; k others dominate an item below it."""
    position = band.counts[K] - 1 + ended(band, expiry)
    return band.items[position].score if position < band.counts[SIZE] else -np.inf


@nested_njit
def crop_rank(band, bound):  # type: ignore[no-untyped-def]
    """The rank in E from which an item of score `bound` may still matter.

    At earlier ranks every expiry has a lower bound above `bound`. An equal bound matters: the item may win the tie.
    """
    return crop_rank_of(band.items, band.counts[SIZE], band.counts[K], bound)


@njit(cache=True, inline="always")
def crop_rank_of(items, size, k, bound):  # type: ignore[no-untyped-def]
    """`crop_rank` of a band's arrays, for hot loops: passing the band would count references to all its arrays."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if items[middle].score > bound:
            low = middle + 1
        else:
            high = middle
    return max(low - k + 1, 0)


@njit(cache=True)
def crop(band, bound):  # type: ignore[no-untyped-def]
    """The smallest expiry for which an item with score at most `bound` may still matter."""
    rank = crop_rank(band, bound)
    return band.ends[rank - 1] + 1 if rank > 0 else TIME_MIN


@shared_njit
def admits(band, score, expiry, tie, key):  # type: ignore[no-untyped-def]
    """False iff k kept items are known to dominate this one, ties included; a rejected item need not be added."""
    return precedes(band, band.counts[K] - 1 + ended(band, expiry), score, tie, key)


@nested_njit
def precedes(band, position, score, tie, key):  # type: ignore[no-untyped-def]
    """Whether an item added now would precede the kept item at `position` of B, or there is none there."""
    if position >= band.counts[SIZE]:
        return True
    worst = band.items[position]
    if score != worst.score:
        return score > worst.score
    return tie < worst.tie or (tie == worst.tie and key < worst.key)


@njit(cache=True)
def topk(band, k, since):  # type: ignore[no-untyped-def]
    """The best `k` (at most K) items with expiry >= `since`, as ITEM[r] in order B. Flush first."""
    best = np.empty(min(k, band.counts[SIZE]), band.items.dtype)
    r = 0
    for i in range(band.counts[SIZE]):
        if r == len(best):
            break
        if band.items[i].expiry >= since:
            best[r] = band.items[i]
            r += 1
    return best[:r]


@shared_njit
def flush(band):  # type: ignore[no-untyped-def]
    """Merge the buffer into B and E, drop expired items, clean up; returns the band to continue with."""
    return flush_ranked(band, ranking(band.buffer, band.counts[PENDING]))


@nested_njit
def flush_ranked(band, ranked):  # type: ignore[no-untyped-def]
    """`flush` for a caller that already has order B of the buffer: int64[at least PENDING] indices into it."""
    counts, n = band.counts, band.counts[SIZE]
    total = n + counts[PENDING]
    if total > len(band.items):
        capacity = max(len(band.items) + len(band.items) // 4, total)
        items, order, ends = (
            grown(band.items, n, capacity),
            grown(band.order, n, capacity),
            grown(band.ends, n, capacity),
        )
        band = Band(counts, items, order, ends, band.buffer)
    flush_in_place(band, ranked)
    if counts[SIZE] // 4 <= len(band.buffer):
        return band
    return Band(counts, band.items, band.order, band.ends, np.empty(counts[SIZE] // 2, band.buffer.dtype))


@nested_njit
def flush_in_place(band, ranked):  # type: ignore[no-untyped-def]
    """`flush_ranked` for a band with room for all buffered items; its buffer may then be too small."""
    counts, items, order, ends = band.counts, band.items, band.order, band.ends
    n, b = counts[SIZE], counts[PENDING]
    if b == 0 and (n == 0 or ends[0] >= counts[NOW]):
        return
    total = n + b
    placed = _merge_ranking(items, n, band.buffer, ranked[:b], order)
    _merge_expiry(band.buffer, ranked[:b], placed, order, ends, n)
    kept = total
    if counts[K] < total or ends[0] < counts[NOW]:  # otherwise nothing has expired or has k dominators
        kept = _cleanup(items, order, ends, total, counts[K], counts[NOW])
    counts[SIZE] = kept
    counts[PENDING] = 0


@nested_njit
def grown(array, length, capacity):  # type: ignore[no-untyped-def]
    """The first `length` entries, in an array of `capacity`."""
    larger = np.empty(capacity, array.dtype)
    for i in range(length):  # a loop: assigning a slice takes ten times as long to compile
        larger[i] = array[i]
    return larger


@nested_njit
def ranks_before(a, b):  # type: ignore[no-untyped-def]
    """Whether item `a` precedes item `b` in order B."""
    if a.score != b.score:
        return a.score > b.score
    if a.tie != b.tie:
        return a.tie < b.tie
    return a.key < b.key


@shared_njit
def ranking(buffer, b):  # type: ignore[no-untyped-def]
    """Indices that put the first `b` items in order B; stable."""
    order = np.empty(b, np.int64)
    for i in range(b):
        order[i] = i
    return ranked(buffer, order)


@nested_njit
def ranked(buffer, source):  # type: ignore[no-untyped-def]
    """The indices `source` (int64[b], overwritten) in order B of their items; stable. Insertion sort, then merges."""
    run, b = 16, len(source)
    for start in range(0, b, run):
        for i in range(start + 1, min(start + run, b)):
            moving = source[i]
            j = i
            while j > start and ranks_before(buffer[moving], buffer[source[j - 1]]):
                source[j] = source[j - 1]
                j -= 1
            source[j] = moving
    target = np.empty_like(source)
    while run < b:
        for start in range(0, b, 2 * run):
            middle, stop = min(start + run, b), min(start + 2 * run, b)
            i, j = start, middle
            for out in range(start, stop):
                if j < stop and (i == middle or ranks_before(buffer[source[j]], buffer[source[i]])):
                    target[out] = source[j]
                    j += 1
                else:
                    target[out] = source[i]
                    i += 1
        source, target = target, source
        run *= 2
    return source


@nested_njit
def _merge_ranking(items, n, buffer, ranked, order):  # type: ignore[no-untyped-def]
    """Merge the buffer into B from the back, renumber `order`; returns the positions of the new items, ascending."""
    b = len(ranked)
    moved = np.empty(n, np.int64)
    placed = np.empty(b, np.int64)
    i, j = n - 1, b - 1
    for out in range(n + b - 1, -1, -1):
        # An old item stays before an equal new one: it was added earlier.
        if j < 0 or (i >= 0 and ranks_before(buffer[ranked[j]], items[i])):
            if i != out:
                items[out] = items[i]
            moved[i] = out
            i -= 1
        else:
            items[out] = buffer[ranked[j]]
            placed[j] = out
            j -= 1
    for rank in range(n):
        order[rank] = moved[order[rank]]
    return placed


@nested_njit
def _merge_expiry(buffer, ranked, placed, order, ends, n):  # type: ignore[no-untyped-def]
    """Merge the new items, now at positions `placed`, into E from the back."""
    arrival = _expiry_order(buffer, ranked)
    i, j = n - 1, len(ranked) - 1
    while j >= 0:
        position, end = placed[arrival[j]], buffer[ranked[arrival[j]]].expiry
        out = i + j + 1
        if i >= 0 and (ends[i] > end or (ends[i] == end and order[i] < position)):
            order[out], ends[out] = order[i], ends[i]
            i -= 1
        else:
            order[out], ends[out] = position, end
            j -= 1


@nested_njit
def _expiry_order(buffer, ranked):  # type: ignore[no-untyped-def]
    """Indices into `ranked` that put the buffered items in order E; linear if they arrived in order of expiry."""
    b = len(ranked)
    group = np.empty(b, np.int64)
    groups = 0
    for item in range(b):
        if item > 0 and buffer[item].expiry < buffer[item - 1].expiry:
            return _sorted_by_expiry(buffer, ranked)
        groups += item > 0 and buffer[item].expiry > buffer[item - 1].expiry
        group[item] = groups
    places = np.zeros(groups + 2, np.int64)
    for item in range(b):
        places[group[item] + 1] += 1
    for g in range(groups + 1):
        places[g + 1] += places[g]
    order = np.empty(b, np.int64)
    for j in range(b - 1, -1, -1):
        g = group[ranked[j]]
        order[places[g]] = j
        places[g] += 1
    return order


@nested_njit
def _sorted_by_expiry(buffer, ranked):  # type: ignore[no-untyped-def]
    """`_expiry_order` for items in any order, by the sort that is already compiled."""
    b = len(ranked)
    turned = np.empty(b, buffer.dtype)
    for j in range(b):
        item = turned[j]
        item.score = 0.0
        item.tie = buffer[ranked[b - 1 - j]].expiry
        item.key = j  # E is the reverse of B on equal expiry
    found = ranking(turned, b)
    for i in range(b):
        found[i] = b - 1 - found[i]
    return found


@nested_njit
def _cleanup(items, order, ends, total, k, now):  # type: ignore[no-untyped-def]
    """Drop items that have expired or have k dominators from B and E; returns the number kept.

    E[i], with i items kept before it, has k dominators iff it comes after the (k + i)-th remaining item of B: all of
    those except i expire no earlier. `limit` advances in B along with i, so that the pass is linear.
    """
    gone = np.zeros(total, np.bool_)
    first = 0
    while first < total and ends[first] < now:
        gone[order[first]] = True
        first += 1
    limit, passed = -1, 0
    while limit < total and passed < k:
        limit += 1
        if limit < total and not gone[limit]:
            passed += 1
    kept = 0
    for rank in range(first, total):
        position = order[rank]
        if position > limit:
            gone[position] = True
            continue
        order[kept], ends[kept] = position, ends[rank]
        kept += 1
        limit += 1
        while limit < total and gone[limit]:
            limit += 1
    if kept == total:
        return kept
    moved = np.empty(total, np.int64)
    out = 0
    for position in range(total):
        moved[position] = out
        if not gone[position]:
            if out != position:
                items[out] = items[position]
            out += 1
    for rank in range(kept):
        order[rank] = moved[order[rank]]
    return kept
