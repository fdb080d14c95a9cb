"""sketch/hll-panes: an Apache DataSketches HLL for each pane of time."""

import math
import struct
from collections.abc import Mapping
from itertools import pairwise
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field
from datasketches import hll_sketch, hll_union, tgt_hll_type
from skyband.arrays import Array, Int64, UInt64, moment
from skyband.config.durations import MOST, Duration, parsed
from skyband.config.literals import literal
from skyband.config.parameters import checked, number
from skyband.errors import ConfigError, InputError, Problem, SnapshotError
from skyband.roles import Sketch
from skyband.state_validation import StateReader

LIST, SET, HLL = range(3)
_HLL_8 = 2
_MODE, _TYPE, _WIDTH = 3, 2, 4
_LIST_SLOTS = 8


def problem_of(image: bytes, lg_k: int) -> str | None:
    """The problem of an image of an HLL_8 of 2^lg_k registers, in its updatable form, or None.

    The format of Java and C++: the head (8 bytes: ints of the preamble, version, family, lg_k, lg of the slots, flags,
    count of a list, mode and type); then the coupons of a list or set, or three sums, two counts and the registers.
    """
    if len(image) < 8 or image[1:4] != bytes((1, 7, lg_k)) or image[7] >> _TYPE != _HLL_8:
        return f"is not an HLL_8 with lg_k = {lg_k}"
    mode, lg_slots = image[7] & _MODE, image[4]
    if mode == HLL:
        if image[0] != 10 or len(image) != 40 + (1 << lg_k):
            return f"has {len(image)} bytes for 2^{lg_k} registers"
        sums = struct.unpack_from("<3d", image, 8)
        return None if all(math.isfinite(number) and number >= 0 for number in sums) else f"has the sums {sums}"
    if mode == LIST:
        head, slots, count, room = 2, _LIST_SLOTS, image[6], _LIST_SLOTS
    elif mode == SET and len(image) >= 12 and lg_slots <= lg_k:
        head, slots, count = 3, 1 << lg_slots, struct.unpack_from("<I", image, 8)[0]
        room = slots * 3 // 4
    else:
        return f"has no valid mode (byte {image[7]}, {len(image)} bytes, 2^{lg_slots} slots)"
    if image[0] != head or len(image) != head * 4 + slots * _WIDTH:
        return f"has {len(image)} bytes for {slots} coupons"
    filled = int(np.count_nonzero(np.frombuffer(image, "<u4", slots, head * 4)))
    return None if filled == count <= room else f"says it holds {count} coupons but holds {filled} of at most {room}"


SIZES = range(7, 22)
"""Logarithms of the possible numbers of registers; DataSketches allows at most 2^21."""


def _as_length(value: Any) -> Any:
    """The length of a pane given as a duration; other values are unchanged."""
    if isinstance(value, str):
        parsed_value = parsed(value)
        return parsed_value.length if isinstance(parsed_value, Duration) else value
    return value.length if isinstance(value, Duration) else value


def _check_pane(value: Any) -> str | None:
    length = _as_length(value)
    if isinstance(length, int | np.integer) and not isinstance(length, bool):
        return None if 1 <= length <= MOST else f"must be above 0 and at most {MOST} (got {literal(value)})"
    return f'must be a duration such as "1 minute" or "1000 rows" (got {literal(value)})'


@define(eq=False)
class HllPanes(Sketch):
    """An Apache DataSketches HyperLogLog sketch for each pane of time, united for each answer.

    Answers are for the start of any pane, not for any moment. A sketch has the fewest registers, a power of two, with
    which the error that DataSketches states for unions exceeds `epsilon` with probability `delta` or less. Equal input
    leads to equal bytes only if rows arrive in time order; estimates are right for late rows too. Use it for
    comparison, or to share the state with other programs that use DataSketches.

    Parameters
    ----------
    pane : duration | int, default 60000000
        length of a pane, such as "1 minute" or "1000 rows"; a number is in the unit of the times: microseconds or
        rows in a job (above 0)
    epsilon : float, default 0.02
        relative error that delta of the answers may exceed (above 0 and below 1)
    delta : float, default 0.05
        share of the answers that may be off by more than epsilon (above 0 and below 1)

    Complexity
    ----------
    Update O(1) a row, in Python. Estimate O(panes since the moment), each of up to 2^lg_k bytes, the number of
    registers. `forget` drops panes.

    References
    ----------
    Flajolet, Fusy, Gandouet and Meunier, HyperLogLog, AofA 2007. Panes: Li, Maier, Tufte, Papadimos and Tucker, No
    pane, no gain, SIGMOD Record 2005.

    Examples
    --------
    >>> import numpy as np
    >>> import skyband
    >>> sketch = skyband.create("sketch", "hll-panes", pane=1)
    >>> sketch.update(times=np.arange(10), keys=np.arange(10, dtype=np.uint64) % 4)
    >>> round(sketch.estimate(since=7))
    3
    """

    name: ClassVar[str] = "hll-panes"
    ordered: ClassVar[bool] = True

    pane: int = checked(
        60_000_000,
        type="duration | int",
        check=_check_pane,
        bounds="above 0",
        converter=_as_length,
        help='length of a pane, such as "1 minute" or "1000 rows"; a number is in the unit of the times: '
        "microseconds or rows in a job",
    )
    epsilon: float = number(0.02, above=0, below=1, help="relative error that delta of the answers may exceed")
    delta: float = number(0.05, above=0, below=1, help="share of the answers that may be off by more than epsilon")

    _lg_k: int = field(init=False)
    _panes: dict[int, Any] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        deviations = NormalDist().inv_cdf(1 - self.delta / 2)
        errors = {lg_k: deviations * _deviation(lg_k) for lg_k in SIZES}
        enough = [lg_k for lg_k, error in errors.items() if error <= self.epsilon]
        if not enough:
            least = min(errors.values())
            message = f"must be at least {least:.2g} with delta = {self.delta:g} (got {self.epsilon:g})"
            raise ConfigError(Problem("epsilon", message))
        self._lg_k = enough[0]

    @property
    def grain(self) -> int:
        return self.pane

    def _update(self, times: Int64, keys: UInt64) -> None:
        panes = times // self.pane
        cuts = [0, *(np.flatnonzero(np.diff(panes)) + 1).tolist(), len(panes)]
        numbers = keys.view(np.int64).tolist()
        for start, stop in pairwise(cuts):
            sketch = self._panes.setdefault(int(panes[start]), hll_sketch(self._lg_k, tgt_hll_type.HLL_8))
            for key in numbers[start:stop]:
                sketch.update(key)

    def estimate(self, since: int) -> float:
        since = moment("since", since)
        if since % self.pane:
            raise InputError("since", f"must be a multiple of {self.pane}, the length of a pane (got {since})")
        union, first = hll_union(self._lg_k), since // self.pane
        for pane, sketch in self._panes.items():
            if pane >= first:
                union.update(sketch)
        return float(union.get_estimate())

    def forget(self, before: int) -> None:
        """Drop the panes that end at `before` or earlier."""
        last = moment("before", before)
        self._panes = {pane: sketch for pane, sketch in self._panes.items() if (pane + 1) * self.pane > last}

    def _merge(self, other: Self) -> None:  # noqa: ARG002
        raise InputError(
            "other", "cannot be merged: the bytes of a union differ from those of a single HLL of both streams"
        )

    def __len__(self) -> int:
        return len(self._panes)

    @property
    def nbytes(self) -> int:
        """Bytes of the panes, as serialized by DataSketches."""
        return sum(sketch.get_updatable_serialization_bytes() for sketch in self._panes.values())

    def _state(self) -> dict[str, Array]:
        blobs = [sketch.serialize_updatable() for sketch in self._panes.values()]
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "panes": np.array(list(self._panes), np.int64),
            "offsets": np.cumsum([0, *map(len, blobs)], dtype=np.int64),
            "sketches": np.frombuffer(b"".join(blobs), np.uint8),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._now = reader.optional("now")
        latest = -(2**63) - 1 if self._now is None else self._now // self.pane
        panes = reader.ascending("panes", strictly=True, at_most=latest)
        column = reader.column("sketches", np.uint8)
        blobs, bounds = column.tobytes(), pairwise(reader.offsets("offsets", len(panes), len(column)).tolist())
        images = [blobs[start:stop] for start, stop in bounds]
        for pane, image in zip(panes.tolist(), images, strict=True):
            problem = problem_of(image, self._lg_k)
            reader.require(problem is None, "sketches", f"must each be an HLL: that of pane {pane} {problem}")
        try:
            sketches = [hll_sketch.deserialize(image) for image in images]
        except (RuntimeError, ValueError, IndexError) as error:
            raise SnapshotError(f"a pane's sketch is damaged: {error}") from error
        self._panes = dict(zip(panes.tolist(), sketches, strict=True))


def _deviation(lg_k: int) -> float:
    """The relative standard deviation of a union of HLLs, the larger of its two sides."""
    return max(abs(hll_sketch.get_rel_err(upper, True, lg_k, 1)) for upper in (True, False))
