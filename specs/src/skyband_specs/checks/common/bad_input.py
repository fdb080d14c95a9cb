"""Input is never changed, never kept, and where it breaks the contract never half taken in."""

from typing import Any

import numpy as np
from skyband import InputError
from skyband.arrays import Array

from skyband_specs.border import Border, arrays_in
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.feeding import fed, seeded, visible
from skyband_specs.stream import Stream

COUNT = 4


@check("bad-input")
def check_bad_input_leaves_no_trace(make: Make, case: Case) -> None:
    """Input that breaks the contract raises InputError, and the backend goes on as if it had not come."""
    stream = case.driver.seeded(case, 1)
    half = len(stream) // 2
    backend = make()
    case.driver.feed(backend, stream, 0, half)
    before = visible(case, backend, stream, half)
    for label, call in case.driver.bad_inputs(backend):
        try:
            call()
        except InputError:
            expect_equal(visible(case, backend, stream, half), before, f"after {label}, which was refused")
            continue
        raise AssertionError(f"{label}: was taken; it must raise InputError")
    case.driver.feed(backend, stream, half, len(stream))
    wanted = visible(case, fed(make, case, stream, [half]), stream, len(stream))
    expect_equal(visible(case, backend, stream, len(stream)), wanted, "after bad input and the rest of the stream")


@check("bad-input")
def check_input_is_not_changed(make: Make, case: Case) -> None:
    """The caller's arrays are as they were."""

    def law(stream: Stream) -> None:
        copies: list[tuple[str, Array, Array]] = []

        def copy(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            copies.extend((name, array, array.copy()) for array in arrays_in(args, kwargs))

        case.driver.feed(Border(make(), before=copy), stream.copy(), 0, len(stream))
        for name, array, before in copies:
            changed = np.flatnonzero(array != before).tolist()
            expect(not changed, f"{name} changed rows {changed} of an array that it was given")

    holds_for(case, seeded(case), law)


@check("bad-input")
def check_input_is_not_kept(make: Make, case: Case) -> None:
    """The caller may use its arrays again for something else."""

    def law(stream: Stream) -> None:
        def overwrite(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            for array in arrays_in(args, kwargs):
                array[...] = 0

        half = len(stream) // 2
        wanted = visible(case, fed(make, case, stream, [half]), stream, len(stream))
        backend, given = Border(make(), after=overwrite), stream.copy()
        case.driver.feed(backend, given, 0, half)
        case.driver.feed(backend, given, half, len(stream))
        got = visible(case, backend, stream, len(stream))
        expect_equal(got, wanted, "the arrays of every call were overwritten by the caller after it")

    holds_for(case, seeded(case), law)


@check("bad-input")
def check_read_only_input_is_taken(make: Make, case: Case) -> None:
    """Arrays that cannot be written to, as Arrow's cannot, do as well."""

    def law(stream: Stream) -> None:
        def freeze(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            for array in arrays_in(args, kwargs):
                array.flags.writeable = False

        wanted = visible(case, fed(make, case, stream), stream, len(stream))
        backend = Border(make(), before=freeze)
        case.driver.feed(backend, stream.copy(), 0, len(stream))
        expect_equal(visible(case, backend, stream, len(stream)), wanted, "given read-only arrays")

    holds_for(case, seeded(case, (1,)), law)
