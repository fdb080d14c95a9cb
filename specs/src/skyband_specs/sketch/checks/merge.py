"""Merging sketches gives the sketch of the union of their streams."""

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define
from skyband import ConfigError
from skyband.arrays import Array, Int64, UInt64
from skyband.roles import Sketch

from skyband_specs.batching import fed, seeded, visible
from skyband_specs.check import Make, check, expect, expect_equal, expect_inputs_refused
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.sketch.streams import SketchStream, spread

COUNT = 7
_NEEDS = ("merge",)


@check("merge", needs=_NEEDS)
def check_merged_is_the_sketch_of_the_union(make: Make, case: Case) -> None:
    """Parts of a stream, one in common, sketched separately and merged, equal the sketch of it all, then and later."""

    def law(stream: SketchStream) -> None:
        cut = len(stream) * 3 // 4
        merged = _merged(make, case, *_parts(stream.take(np.arange(cut)), 2, common=True))
        whole = make()
        case.driver.feed(whole, stream, 0, cut)
        expected = visible(case, whole, stream, cut)
        expect_equal(visible(case, merged, stream, cut), expected, "merged")
        for backend in (merged, whole):
            case.driver.feed(backend, stream, cut, len(stream))
        expected = visible(case, whole, stream, len(stream))
        expect_equal(visible(case, merged, stream, len(stream)), expected, "merged, then fed the rest of the stream")

    holds_for(case, seeded(case), law)


@check("merge", needs=_NEEDS)
def check_merge_is_commutative(make: Make, case: Case) -> None:
    """A with B equals B with A."""

    def law(stream: SketchStream) -> None:
        left, right = _parts(stream, 2)
        expected = visible(case, _merged(make, case, left, right), stream, len(stream))
        expect_equal(
            visible(case, _merged(make, case, right, left), stream, len(stream)), expected, "merged in reverse"
        )

    holds_for(case, seeded(case), law)


@check("merge", needs=_NEEDS)
def check_merge_is_associative(make: Make, case: Case) -> None:
    """A with B, with C, equals A with (B with C)."""

    def law(stream: SketchStream) -> None:
        first, second, third = _parts(stream, 3)
        expected = visible(case, _merged(make, case, first, second, third), stream, len(stream))
        grouped = fed(make, case, first)
        grouped.merge(_merged(make, case, second, third))
        expect_equal(visible(case, grouped, stream, len(stream)), expected, "merged the last two first")

    holds_for(case, seeded(case), law)


@check("merge", needs=_NEEDS)
def check_merge_adds_nothing_known(make: Make, case: Case) -> None:
    """Merging a sketch of the same rows, or an empty one, changes nothing; merging into a new one copies."""

    def law(stream: SketchStream) -> None:
        backend = fed(make, case, stream)
        before = visible(case, backend, stream, len(stream))
        for what, other in (("the same rows", fed(make, case, stream)), ("no row", make())):
            backend.merge(other)
            expect_equal(visible(case, backend, stream, len(stream)), before, f"merged with a sketch of {what}")
        new = make()
        new.merge(backend)
        expect_equal(visible(case, new, stream, len(stream)), before, "a new sketch merged with it")

    holds_for(case, seeded(case), law)


@check("merge", needs=_NEEDS)
def check_merge_leaves_the_other_alone(make: Make, case: Case) -> None:
    """The other sketch is not changed, neither by the merge nor later."""

    def law(stream: SketchStream) -> None:
        half = len(stream) // 2
        other = make()
        case.driver.feed(other, stream, 0, half)
        before = visible(case, other, stream, half)
        backend = make()
        backend.merge(other)
        expect_equal(visible(case, other, stream, half), before, "the other sketch, after the merge")
        case.driver.feed(backend, stream, half, len(stream))
        expect_equal(visible(case, other, stream, half), before, "the other sketch, when the merged one continued")

    holds_for(case, seeded(case), law)


@check("merge", needs=_NEEDS)
def check_merge_refuses_other_sketches(make: Make, case: Case) -> None:
    """Another class, or other parameters, raise InputError and change nothing."""
    stream = case.driver.seeded(case, 1)
    backend = fed(make, case, stream)
    merges = [(label, partial(backend.merge, other)) for label, other in _strangers(make)]
    expect_inputs_refused(merges, lambda: visible(case, backend, stream, len(stream)))
    own = fed(make, case, stream)
    own.merge(backend)
    expect(own.now == backend.now, "a sketch with the same parameters must merge")


@check("merge", needs=_NEEDS)
def check_merge_with_one_key_in_common(make: Make, case: Case) -> None:
    """A key in both counts once, at its later time, whichever sketch that is in; however many others there are."""
    for others in (0, 3, 2000):
        times = np.arange(2 * others + 2)
        keys = spread(times)
        keys[-1] = keys[0]
        for shared in (0, others + 1):
            owner = np.arange(2 * others + 2) > others
            parts = [SketchStream(times[owner == side], keys[owner == side]) for side in (False, True)]
            stream = SketchStream(times, keys)
            merged = _merged(make, case, *(parts if shared else parts[::-1]))
            expected = visible(case, fed(make, case, stream), stream, len(stream))
            got = visible(case, merged, stream, len(stream))
            expect_equal(got, expected, f"two sketches of {others + 1} keys, one in common, merged")


def _parts(stream: SketchStream, count: int, common: bool = False) -> list[SketchStream]:
    """The rows split into `count` streams; with `common`, a fifth of them in all.

    The part of a row depends only on the row, so that it stays there when the stream is shortened.
    """
    lots = spread(stream.times ^ stream.keys.view(np.int64))
    shared = (lots // np.uint64(count) % np.uint64(5) == 0) & common
    owner = lots % np.uint64(count)
    return [stream.take(np.flatnonzero((owner == part) | shared)) for part in range(count)]


def _merged(make: Make, case: Case, *parts: SketchStream) -> Any:
    first, *others = (fed(make, case, part) for part in parts)
    for other in others:
        first.merge(other)
    return first


def _strangers(make: Make) -> list[tuple[str, Any]]:
    """Sketches of another class, and of the same one with one parameter changed."""
    strangers: list[tuple[str, Any]] = [("a sketch of another class", _Stranger())]
    for name, value in make().parameters().items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            changed = value + 1 if isinstance(value, int) else value * 0.75
            try:
                strangers.append((f"a sketch with {name} = {changed!r} instead of {value!r}", make(**{name: changed})))
            except ConfigError:
                continue
    return strangers


@define(eq=False)
class _Stranger(Sketch):
    """A sketch that counts nothing."""

    name: ClassVar[str] = "stranger"

    def _update(self, times: Int64, keys: UInt64) -> None:
        pass

    def estimate(self, since: int) -> float:  # noqa: ARG002
        return 0.0

    def _merge(self, other: Self) -> None:
        pass

    def __len__(self) -> int:
        return 0

    @property
    def nbytes(self) -> int:
        return 0

    def _state(self) -> dict[str, Array]:
        return {}

    def _load(self, state: Any) -> None:
        pass
