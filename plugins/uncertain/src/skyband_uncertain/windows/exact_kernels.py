"""The exact window's loops: two stacks of Poisson-binomial distributions, each a band of its array.

Positions count from the start of the array `p`. The candidate is the suffix without the oldest tuple. It is cut at
`mid`: the back, from mid on, is one distribution that grows with each arrival; the front is a product for each suffix
[j, mid), so that dropping the oldest tuple is one step. When the front is used up, the back becomes the front. Only
positive terms are ever added, so the relative error grows only with the number of tuples.
"""

import numpy as np
from numba import njit
from skyband.arrays import Float64, Int64
from skyband.kernels.nested import nested_njit

START, MID, NEXT, APPENDED, ONE, ZERO, STRIDE, BLOCK, SEGMENT, VERDICT, NEEDED = range(11)
TIE_START, TIE_STOP, TIE_VERDICT = 11, 12, 13
FIELDS = 14
"""Fields of the cursor. The back is 1 below ONE and 0 from ZERO on; SEGMENT is the one whose rows are filled; NEEDED is
the number of rows of STRIDE floats for the front; TIE_VERDICT is the caller's last decision, on the tuples
[TIE_START, TIE_STOP)."""
DONE, UNDECIDED, GROW = range(3)
"""Why `advance` returned: all arrivals are taken, a decision is too close for floats, or `rows` is too short."""
UNKNOWN, EVICT, KEEP = range(3)

MOST_CHANGED = 256
"""Tuples compared with those of the last tie."""

CERTAIN = 1.0 - 2.0**-50
"""A probability of the back from here on counts as 1; the error bound includes that."""
RELATIVE = 2.0e-15
"""A bound on the relative error that a tuple adds to F: three roundings in each of two chains, and CERTAIN."""


@njit(cache=True, nogil=True, error_model="numpy")
def advance(  # noqa: C901 - one loop, compiled as one
    p: Float64, stop: int, cursor: Int64, back: Float64, rows: Float64, bands: Int64, starts: Int64,
    first: int, size: int, limit: float, trim: float,
) -> int:  # fmt: skip
    """Take in the arrivals from cursor[NEXT] to `stop`; starts[i − first] is the start after arrival i."""
    while cursor[NEXT] < stop:
        i = cursor[NEXT]
        if cursor[APPENDED] == 0:
            if i >= cursor[MID]:
                _multiply_back(back, p[i], cursor, size, trim)
            cursor[APPENDED] = 1
        while True:
            candidate = cursor[START] + 1
            if i + 1 - candidate < size:
                break
            verdict = cursor[VERDICT]
            cursor[VERDICT] = UNKNOWN
            if verdict == UNKNOWN:
                below = _fewer(back, rows, bands, cursor, size, candidate)
                count = i + 1 - candidate
                slack = below * (RELATIVE * (count + 100)) + 4 * count * trim
                if below + slack < limit:
                    verdict = EVICT
                elif below - slack > limit:
                    verdict = KEEP
                elif _tied_again(p, cursor, candidate, i + 1):
                    verdict = cursor[TIE_VERDICT]
                    cursor[TIE_START], cursor[TIE_STOP] = candidate, i + 1
                else:
                    return UNDECIDED
            else:
                cursor[TIE_START], cursor[TIE_STOP], cursor[TIE_VERDICT] = candidate, i + 1, verdict
            if verdict == KEEP:
                break
            if candidate == cursor[MID]:
                if not _fits(p, candidate + 1, i + 1, size, trim, rows, bands, cursor):
                    cursor[VERDICT] = EVICT
                    return GROW
                _turn(p, candidate + 1, i + 1, size, trim, back, rows, bands, cursor)
            cursor[START] = candidate
            _reach(p, candidate + 1, size, trim, rows, bands, cursor)
        starts[i - first] = cursor[START]
        cursor[APPENDED] = 0
        cursor[NEXT] = i + 1
    return DONE


@nested_njit(nogil=True, error_model="numpy")
def _tied_again(p: Float64, cursor: Int64, start: int, stop: int) -> bool:
    """Whether [start, stop) has the same tuples as the caller's last decision: as many of each probability except 0.

    A stream ties at every arrival if each dropped tuple is replaced by one of equal probability.
    """
    before, after = cursor[TIE_START], cursor[TIE_STOP]
    if cursor[TIE_VERDICT] == UNKNOWN or before > start or start - before + stop - after > MOST_CHANGED:
        return False
    balance = 0
    for i in range(before, start):
        balance += p[i] > 0.0
    for i in range(after, stop):
        balance -= p[i] > 0.0
        if p[i] > 0.0 and _count(p, before, start, p[i]) != _count(p, after, stop, p[i]):
            return False
    return balance == 0


@nested_njit(nogil=True, error_model="numpy")
def _count(p: Float64, start: int, stop: int, value: float) -> int:
    times = 0
    for i in range(start, stop):
        times += p[i] == value
    return times


@nested_njit(nogil=True, error_model="numpy")
def _multiply_back(back: Float64, p: float, cursor: Int64, size: int, trim: float) -> None:
    """back[r] = P(fewer than size − r of the back exist), by eq. 10, which holds for the CDF as for the PMF.

    The array ends at r = size, and is as long as the back is deep.
    """
    q = 1.0 - p
    above = size + 1 - len(back)
    one, zero = cursor[ONE] - above, cursor[ZERO] - above
    if one > 0:
        one -= 1
        back[one] = 1.0
    for r in range(one, zero):
        back[r] = q * back[r] + p * back[r + 1]
    while one < zero and back[one] >= CERTAIN:
        one += 1
    while one < zero and back[zero - 1] < trim:
        zero -= 1
        back[zero] = 0.0
    cursor[ONE], cursor[ZERO] = one + above, zero + above


@nested_njit(error_model="numpy", fastmath={"reassoc", "contract"})
def _fewer(back: Float64, rows: Float64, bands: Int64, cursor: Int64, size: int, candidate: int) -> float:
    """P(fewer than size of the candidate suffix exist): the front has k, the back fewer than size − k."""
    mid, stride, above = cursor[MID], cursor[STRIDE], size + 1 - len(back)
    if candidate == mid:
        return 1.0 if cursor[ONE] > 0 else back[0]
    row = (mid - candidate - 1) % cursor[BLOCK]
    low, high, at = bands[3 * row], bands[3 * row + 1], row * stride + bands[3 * row + 2]
    one, zero = cursor[ONE], min(cursor[ZERO], high)
    certain = 0.0
    for k in range(low, min(one, high)):
        certain += rows[at + k - low]
    mixed = 0.0
    for k in range(max(low, one), zero):
        mixed += rows[at + k - low] * back[k - above]
    return certain + mixed


@nested_njit(nogil=True, error_model="numpy")
def _shape(p: Float64, start: int, mid: int, size: int, trim: float) -> tuple[int, int]:
    """Rows between checkpoints, and the widest band of a product over [start, mid), by Bernstein's inequality."""
    variance = 0.0
    for j in range(start, mid):
        variance += p[j] * (1.0 - p[j])
    nats = np.log(2.0 / trim)
    reach = nats / 3.0 + np.sqrt(nats * nats / 9.0 + 2.0 * nats * variance)
    block = int(np.sqrt(mid - start)) + 1
    return block, min(min(mid - start, size) + 2, int(2.0 * reach) + 5)


@nested_njit(nogil=True, error_model="numpy")
def _fits(p: Float64, start: int, mid: int, size: int, trim: float, rows: Float64, bands: Int64, cursor: Int64) -> bool:
    """Whether there is room for the front of [start, mid): BLOCK rows, and a checkpoint for every BLOCK tuples."""
    block, stride = _shape(p, start, mid, size, trim)
    cursor[BLOCK], cursor[STRIDE], cursor[NEEDED] = block, stride, block + (mid - start) // block + 2
    return cursor[NEEDED] * stride <= len(rows) and 3 * cursor[NEEDED] <= len(bands)


@nested_njit(nogil=True, error_model="numpy")
def _turn(
    p: Float64, start: int, mid: int, size: int, trim: float,
    back: Float64, rows: Float64, bands: Int64, cursor: Int64,
) -> None:  # fmt: skip
    """Make [start, mid) the front: its checkpoints, each the product of a multiple of BLOCK tuples; empty the back."""
    block, stride = cursor[BLOCK], cursor[STRIDE]
    cursor[MID], cursor[SEGMENT] = mid, -1
    cursor[ONE], cursor[ZERO] = size, size
    back[-1] = 0.0
    _unit(rows, bands, block, stride)
    source = block
    for j in range(mid - 1, start - 1, -1):
        done = mid - j
        target = (done - 1) % block
        _multiply_row(rows, bands, source, target, stride, p[j], size, trim)
        source = target
        if done % block == 0:
            checkpoint = block + done // block
            _copy(rows, bands, target, checkpoint, stride)
    if mid > start:
        cursor[SEGMENT] = (mid - start - 1) // block


@nested_njit(nogil=True, error_model="numpy")
def _reach(p: Float64, candidate: int, size: int, trim: float, rows: Float64, bands: Int64, cursor: Int64) -> None:
    """Fill the rows of the candidate's segment, from the checkpoint on its young side."""
    mid, block, stride = cursor[MID], cursor[BLOCK], cursor[STRIDE]
    if candidate >= mid:
        return
    segment = (mid - candidate - 1) // block
    if segment == cursor[SEGMENT]:
        return
    cursor[SEGMENT] = segment
    source = block + segment
    for row in range(min(block, mid - candidate - segment * block)):
        _multiply_row(rows, bands, source, row, stride, p[mid - segment * block - 1 - row], size, trim)
        source = row


@nested_njit(nogil=True, error_model="numpy")
def _unit(rows: Float64, bands: Int64, row: int, stride: int) -> None:
    """The empty product: 0 tuples with probability 1."""
    rows[row * stride] = 1.0
    bands[3 * row], bands[3 * row + 1], bands[3 * row + 2] = 0, 1, 0


@nested_njit(nogil=True, error_model="numpy")
def _copy(rows: Float64, bands: Int64, source: int, target: int, stride: int) -> None:
    for k in range(stride):  # a loop, as assigning a slice takes seconds to compile
        rows[target * stride + k] = rows[source * stride + k]
    for k in range(3):
        bands[3 * target + k] = bands[3 * source + k]


@nested_njit(nogil=True, error_model="numpy")
def _multiply_row(
    rows: Float64, bands: Int64, source: int, target: int, stride: int, p: float, size: int, trim: float
) -> None:
    """The PMF with one more tuple (eq. 10), without its ends below `trim` and its counts from `size` on.

    A band is (lowest count, one past the highest, place of the lowest in the row).
    """
    q = 1.0 - p
    low, width = bands[3 * source], bands[3 * source + 1] - bands[3 * source]
    old = rows[source * stride + bands[3 * source + 2] : source * stride + bands[3 * source + 2] + width]
    new = rows[target * stride : target * stride + width + 1]
    if width > 0:
        new[0] = q * old[0]
        for k in range(1, width):
            new[k] = q * old[k] + p * old[k - 1]
        new[width] = p * old[width - 1]
    begin, end = 0, min(width + 1, size - low) if width > 0 else 0
    while end > begin and new[end - 1] < trim:
        end -= 1
    while end > begin and new[begin] < trim:
        begin += 1
    bands[3 * target], bands[3 * target + 1], bands[3 * target + 2] = low + begin, low + end, begin


@njit(cache=True, nogil=True, error_model="numpy")
def front_of(
    p: Float64, start: int, mid: int, size: int, trim: float,
    back: Float64, rows: Float64, bands: Int64, cursor: Int64,
) -> bool:  # fmt: skip
    """Make [start, mid) the front and its suffix from `start` the candidate; False if `rows` is too short."""
    if not _fits(p, start, mid, size, trim, rows, bands, cursor):
        return False
    _turn(p, start, mid, size, trim, back, rows, bands, cursor)
    return True
