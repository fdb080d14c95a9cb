"""Input is never changed, never kept, and where it breaks the contract never half taken in."""

import numpy as np
from skyband import InputError

from skyband_specs.case import Case
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
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
        given = stream.copy()
        fed(make, case, given)
        for name, column in stream.columns().items():
            expect(_equal(given.columns()[name], column), f"the argument {name} was changed in place")

    holds_for(case, seeded(case), law)


@check("bad-input")
def check_input_is_not_kept(make: Make, case: Case) -> None:
    """The caller may use its arrays again for something else."""

    def law(stream: Stream) -> None:
        given = stream.copy()
        half = len(stream) // 2
        backend = make()
        case.driver.feed(backend, given, 0, half)
        _overwrite(given, half)
        case.driver.feed(backend, stream, half, len(stream))
        wanted = visible(case, fed(make, case, stream, [half]), stream, len(stream))
        got = visible(case, backend, stream, len(stream))
        expect_equal(got, wanted, f"the first {half} rows were overwritten by the caller after it gave them")

    holds_for(case, seeded(case), law)


@check("bad-input")
def check_read_only_input_is_taken(make: Make, case: Case) -> None:
    """Arrays that cannot be written to, as Arrow's cannot, do as well."""

    def law(stream: Stream) -> None:
        given = stream.copy()
        for column in given.columns().values():
            for array in column if isinstance(column, tuple) else (column,):
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False
        wanted = visible(case, fed(make, case, stream), stream, len(stream))
        expect_equal(visible(case, fed(make, case, given), stream, len(stream)), wanted, "given read-only arrays")

    holds_for(case, seeded(case, (1,)), law)


def _equal(left: object, right: object) -> bool:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(np.array_equal(left, right))  # type: ignore[arg-type]


def _overwrite(stream: Stream, stop: int) -> None:
    for column in stream.columns().values():
        if isinstance(column, np.ndarray):
            column[:stop] = 0
        else:
            for entry in column[:stop]:
                if isinstance(entry, np.ndarray):
                    entry[:] = 0
