"""How often keys were seen: the interface of sketches that know it, and sightings in states. Loads no compiled code.

A sighting is a row of a key. A sketch with `sightings = 10` keeps the last ten of each key, so that it knows which keys
were seen once, twice, and so on up to nine times in any window, and which ten times or more.
"""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import define
from skyband.arrays import Array, Float64, Int64, UInt64
from skyband.config.literals import literal
from skyband.config.parameters import checked, integer
from skyband.errors import ConfigError, InputError, Problem
from skyband.roles import Sketch
from skyband.state_validation import StateReader

MOST = 100
"""The most sightings of a key that are kept."""


def sightings() -> Any:
    """The parameter: how many sightings of each key are kept."""
    text = "how many of the last rows of each key are kept, so that keys can be counted by how often they were seen; "
    return integer(None, at_least=1, at_most=MOST, help=f"{text}set by the query's key `seen`")


def seen_parameter() -> Any:
    """The query's key: the numbers of sightings by which items are counted."""
    return checked(
        None, type="list", check=lambda value: None if value is None else fault_of_seen(value), kw_only=True,
        converter=as_seen,
        help="count items by how many rows have them, as [1, 2, 3]; the last number means that many or more",
    )  # fmt: skip


def check_alone(sightings: int | None, values: str | None) -> None:
    """Raise ConfigError if values are kept too."""
    if sightings is not None and values is not None:
        message = "cannot be set with `values`: a sketch keeps the values of its keys, or how often they were seen"
        raise ConfigError(Problem("sightings", f"{message} (got {sightings})"))


def as_seen(value: Any) -> Any:
    """Convert a list, also of SQL, to a tuple; other values stay as they are."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(number.item() if isinstance(number, np.integer) else number for number in value)
    return value


def fault_of_seen(value: Any) -> str | None:
    """What is wrong with a list of numbers of sightings; None if nothing is."""
    if not isinstance(value, tuple | list) or not value:
        return f"must be a list of whole numbers, such as [1, 2, 3] (got {literal(value)})"
    for number in value:
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= MOST:
            return f"must be whole numbers from 1 to {MOST} (got {literal(number)})"
    if any(later <= earlier for earlier, later in pairwise(value)):
        return f"must be ascending (got {literal(list(value))})"
    return None


def texts(classes: Sequence[int]) -> list[str]:
    """The classes as text: "1", "2" and so on, and "3+" for the last, which is that many or more."""
    return [*map(str, classes[:-1]), f"{classes[-1]}+"]


@define(eq=False)
class SightingSketch(Sketch):
    """A sketch with a parameter `sightings`, which counts keys by how often they were seen if that is set."""

    @property
    def kept_sightings(self) -> int | None:
        """The parameter `sightings`."""
        number: int | None = self.parameters().get("sightings")
        return number

    def frequencies(self, since: int, classes: Sequence[int]) -> Float64:
        """(count, low, high) of the distinct keys with exactly classes[i] rows with time >= `since`: float64[n, 3].

        The last of `classes`, which is ascending and at most `sightings`, counts the keys with that many rows or more.
        Raises InputError for other numbers, or if no sightings are kept.
        """
        check_seen(classes, self.kept_sightings)
        return self._frequencies(since, classes)

    @abstractmethod
    def _frequencies(self, since: int, classes: Sequence[int]) -> Float64: ...


def check_seen(classes: Sequence[int], most: int | None) -> None:
    """Raise InputError unless keys can be counted by these numbers if `most` sightings of each are kept."""
    if most is None:
        message = "needs the sightings of keys, which were not kept: set `seen` in the query"
        raise InputError("seen", f"{message}, with sketch/k-skb or sketch/exact")
    fault = fault_of_seen(classes)
    if fault is None and classes[-1] > most:
        fault = f"must be at most {most}, the sightings of each key that are kept (got {classes[-1]})"
    if fault is not None:
        raise InputError("seen", fault)


def in_classes(numbers: Int64, classes: Sequence[int]) -> Int64:
    """int64[n]: how many keys are in each class.

    numbers: int64[f], of keys seen once, twice and so on, and in the last place f times or more.
    """
    return np.array([*(numbers[number - 1] for number in classes[:-1]), numbers[classes[-1] - 1 :].sum()], np.int64)


def numbers_seen(counts: Int64, most: int) -> Int64:
    """int64[most]: how many counts, each at least 1, are 1, 2 and so on, and in the last place `most` or more."""
    numbers: Int64 = np.bincount(np.minimum(counts, most), minlength=most + 1)[1:]
    return numbers


def places_of(keys: UInt64, earlier_keys: UInt64) -> Int64:
    """int64[m]: the place in `keys`, which are distinct, of each of m keys. O((n + m) log n)."""
    order = np.argsort(keys)
    places: Int64 = order[np.searchsorted(keys, earlier_keys, sorter=order)]
    return places


def to_state(times: Int64, earlier: Int64, place: Int64) -> dict[str, Array]:
    """The arrays of earlier sightings in a state, a few bytes each.

    times: int64[n], the last sighting of each key, in the order of the state. earlier: int64[m], the sightings before
    these, in any order; place: int64[m], the place of each one's key in `times`.

    `repeats`: uint8[n], the number of earlier sightings of each key; `gaps`: uint8[m, b] flat, the time from each to
    the one after it, as a multiple of `tick` in b bytes.
    """
    order = np.lexsort((~earlier, place))
    earlier, place = earlier[order], place[order]
    first = np.append(True, place[1:] != place[:-1])[: len(place)]
    later = np.where(first, times[place], np.roll(earlier, 1))
    gaps = later.view(np.uint64) - earlier.view(np.uint64)
    tick = max(1, int(np.gcd.reduce(gaps))) if len(gaps) else 1
    ticks = (gaps // np.uint64(tick)).astype("<u8")
    width = (int(ticks.max(initial=0)).bit_length() + 7) // 8
    return {
        "repeats": np.bincount(place, minlength=len(times)).astype(np.uint8),
        "gaps": ticks.view(np.uint8).reshape(-1, 8)[:, :width].ravel(),
        "tick": np.array([tick], np.uint64),
    }


def from_state(reader: StateReader, times: Int64, floor: int, most: int) -> tuple[Int64, Int64]:
    """The earlier sightings and the place of each one's key, int64[m] each, from the arrays of `to_state`.

    They are grouped by key and descending. Raises SnapshotError if they contradict `times` or are before `floor`.
    """
    repeats = reader.column("repeats", np.uint8, len(times))
    reader.require(int(repeats.max(initial=0)) < most, "repeats", f"must be below {most}")
    count = int(repeats.sum(dtype=np.int64))
    packed = reader.column("gaps", np.uint8)
    width = len(packed) // count if count else 0
    reader.require(width <= 8 and width * count == len(packed), "gaps", f"must be up to 8 bytes for each of {count}")
    tick = reader.column("tick", np.uint64, 1)[0]
    reader.require(tick >= 1, "tick", "must be at least 1")
    wide = np.zeros((count, 8), np.uint8)
    wide[:, :width] = packed.reshape(count, width)
    gaps = wide.view("<u8").ravel().astype(np.uint64)
    place = np.repeat(np.arange(len(times)), repeats)
    total = np.cumsum(gaps * tick, dtype=np.uint64)
    starts = np.cumsum(repeats, dtype=np.int64) - repeats
    before = np.append(np.uint64(0), total)[starts][place]
    ages = total - before
    room = times[place].view(np.uint64) - np.uint64(floor % 2**64)
    wraps = np.bincount(place, gaps.astype(np.float64) * float(tick), len(times)) > 2.0**64
    within = not wraps.any() and bool((ages <= room).all())
    reader.require(within, "gaps", f"must not reach back before {floor}")
    earlier: Int64 = (times[place].view(np.uint64) - ages).view(np.int64)
    return earlier, place
