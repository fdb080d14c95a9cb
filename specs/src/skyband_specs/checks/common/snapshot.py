"""A snapshot restores the backend, in another process, as it was.

Refusing damaged bytes is the core's job, whatever the backend, and is tested there.
"""

from typing import Any

import numpy as np
from skyband import SnapshotError, snapshot

from skyband_specs.batching import fed, seeded, visible
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.stream import Stream

COUNT = 6
_NEEDS = ("snapshot",)
ALONE = 24
"""Rows that arrive one at a time after a restore: restored arrays may be read-only."""


@check("snapshot", needs=_NEEDS)
def check_restored_is_the_same(make: Make, case: Case) -> None:
    """The restored backend has the same class, parameters, answers and bytes."""

    def law(stream: Stream) -> None:
        backend = fed(make, case, stream)
        restored = case.restore(backend.snapshot())
        expect_equal(type(restored), type(backend), "class restored")
        expect_equal(restored.parameters(), backend.parameters(), "parameters restored")
        before = visible(case, backend, stream, len(stream))
        expect_equal(visible(case, restored, stream, len(stream)), before, "restored")

    holds_for(case, [case.driver.seeded(case, 1).take(np.arange(0)), *seeded(case)], law)


@check("snapshot", needs=_NEEDS)
def check_restored_goes_on_as_undisturbed(make: Make, case: Case) -> None:
    """Snapshot, restore and continue, row by row and in one batch, at several places, as if nothing had happened."""

    def law(stream: Stream) -> None:
        expected = visible(case, fed(make, case, stream), stream, len(stream))
        for part in (0, 1, 3, 5, 8):
            cut = len(stream) * part // 8
            backend = make()
            case.driver.feed(backend, stream, 0, cut)
            blob = backend.snapshot()
            for alone in (0, ALONE):
                backend = case.restore(blob)
                few = min(cut + alone, len(stream))
                for row in range(cut, few):
                    case.driver.feed(backend, stream, row, row + 1)
                case.driver.feed(backend, stream, few, len(stream))
                got = visible(case, backend, stream, len(stream))
                expect_equal(got, expected, f"restored after {cut} rows, {few - cut} more one by one, at the end")

    holds_for(case, seeded(case), law)


@check("snapshot", needs=_NEEDS)
def check_snapshot_leaves_the_backend_alone(make: Make, case: Case) -> None:
    """A backend with frequent snapshots continues like one without."""

    def law(stream: Stream) -> None:
        backend = make()
        step = max(1, len(stream) // 20)
        for start in range(0, len(stream), step):
            case.driver.feed(backend, stream, start, min(start + step, len(stream)))
            backend.snapshot()
        expected = visible(case, fed(make, case, stream), stream, len(stream))
        expect_equal(
            visible(case, backend, stream, len(stream)), expected, f"snapshotted every {step} rows, at the end"
        )

    holds_for(case, seeded(case), law)


@check("snapshot", needs=_NEEDS)
def check_snapshot_does_not_change_later(make: Make, case: Case) -> None:
    """A restored backend does not share memory with the original, nor the other way round, nor does `dump_state`."""

    def law(stream: Stream) -> None:
        half = len(stream) // 2
        backend = make()
        case.driver.feed(backend, stream, 0, half)
        blob = backend.snapshot()
        copy = bytes(blob)
        first = case.restore(blob)
        then = visible(case, first, stream, half)
        state = backend.dump_state()
        before = {name: array.tobytes() for name, array in state.items()}
        case.driver.feed(backend, stream, half, len(stream))
        backend.snapshot()
        case.driver.feed(case.restore(blob), stream, half, len(stream))
        expect_equal(visible(case, first, stream, half), then, "restored, while two others continued")
        expect(blob == copy, "the snapshot's bytes changed while a restored backend continued")
        changed = [name for name, array in state.items() if array.tobytes() != before[name]]
        expect(not changed, f"arrays of dump_state changed while the backend continued: {changed}")

    holds_for(case, seeded(case, (1,)), law)


@check("snapshot", needs=_NEEDS)
def check_restored_at_odd_moments(make: Make, case: Case) -> None:
    """Restored before any row, and between a call other than feeding (advance, forget, evict) and the next row."""

    def law(stream: Stream) -> None:
        for stop in sorted({0, min(1, len(stream)), len(stream) // 2, len(stream)}):
            for label, act in (("nothing", _nothing), *case.driver.acts(case, stream, stop)):
                plain, restored = make(), make()
                for backend in (plain, restored):
                    case.driver.feed(backend, stream, 0, stop)
                    act(backend)
                restored = case.restore(case.restore(restored.snapshot()).snapshot())
                what = f"restored twice after {stop} rows and {label}"
                expect_equal(visible(case, restored, stream, stop), visible(case, plain, stream, stop), what)
                for backend in (plain, restored):
                    case.driver.feed(backend, stream, stop, len(stream))
                got, expected = (visible(case, backend, stream, len(stream)) for backend in (restored, plain))
                expect_equal(got, expected, f"{what}, at the end")

    holds_for(case, seeded(case, (2,)), law)


@check("snapshot", needs=_NEEDS)
def check_incomplete_snapshot_is_refused(make: Make, case: Case) -> None:
    """A snapshot that lacks one of its arrays, as from another version, raises SnapshotError."""
    contents = snapshot.decode(fed(make, case, case.driver.seeded(case, 1)).snapshot())
    expect(bool(contents.arrays), "the snapshot has no array")
    for name in contents.arrays:
        rest = {other: array for other, array in contents.arrays.items() if other != name}
        _refused(case, snapshot.encode(contents.header, rest), f"without the array {name!r}")


def _refused(case: Case, blob: bytes, how: str) -> None:
    try:
        case.restore(blob)
    except SnapshotError:
        return
    raise AssertionError(f"a snapshot {how} was restored; it must raise SnapshotError")


def _nothing(backend: Any) -> None:
    """Do nothing."""
