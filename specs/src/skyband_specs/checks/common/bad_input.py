"""Input is never changed, kept, or half processed if it breaks the contract; answers belong to the caller."""

from typing import Any

import numpy as np
from skyband.arrays import Array

from skyband_specs.batching import fed, seeded, visible
from skyband_specs.call_recorder import Border, arrays_in, arrays_of
from skyband_specs.check import Make, check, expect, expect_equal, expect_inputs_refused
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.stream import Stream

COUNT = 5


@check("bad-input")
def check_bad_input_leaves_no_trace(make: Make, case: Case) -> None:
    """Input that breaks the contract raises InputError, and the backend continues as if it had never arrived."""
    stream = case.driver.seeded(case, 1)
    half = len(stream) // 2
    backend = make()
    case.driver.feed(backend, stream, 0, half)
    expect_inputs_refused(case.driver.bad_inputs(backend), lambda: visible(case, backend, stream, half))
    case.driver.feed(backend, stream, half, len(stream))
    expected = visible(case, fed(make, case, stream, [half]), stream, len(stream))
    expect_equal(visible(case, backend, stream, len(stream)), expected, "after bad input and the rest of the stream")


@check("bad-input")
def check_input_is_not_changed(make: Make, case: Case) -> None:
    """The caller's arrays are unchanged."""

    def law(stream: Stream) -> None:
        copies: list[tuple[str, Array, Array]] = []

        def copy(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            copies.extend((name, array, array.copy()) for array in arrays_in(args, kwargs))

        backend = Border(make(), before=copy)
        case.driver.feed(backend, stream.copy(), 0, len(stream))
        case.driver.answers(backend, stream, len(stream))
        for name, array, before in copies:
            changed = np.flatnonzero(array != before).tolist()
            expect(not changed, f"{name} changed rows {changed} of an array that it was given")

    holds_for(case, seeded(case), law)


@check("bad-input")
def check_input_is_not_kept(make: Make, case: Case) -> None:
    """The caller may reuse its arrays, also those of questions."""

    def law(stream: Stream) -> None:
        def overwrite(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            for array in arrays_in(args, kwargs):
                array[...] = 0

        half = len(stream) // 2
        expected = visible(case, fed(make, case, stream, [half]), stream, len(stream))
        backend, copy = Border(make(), after=overwrite), stream.copy()
        case.driver.feed(backend, copy, 0, half)
        case.driver.answers(backend, stream, half)
        case.driver.feed(backend, copy, half, len(stream))
        for _ in range(2):
            got = visible(case, backend, stream, len(stream))
            expect_equal(got, expected, "the arrays of every call were overwritten by the caller after it")

    holds_for(case, seeded(case), law)


@check("bad-input")
def check_read_only_input_is_taken(make: Make, case: Case) -> None:
    """Arrays that are read-only, like Arrow's, are accepted."""

    def law(stream: Stream) -> None:
        def freeze(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            for array in arrays_in(args, kwargs):
                array.flags.writeable = False

        expected = visible(case, fed(make, case, stream), stream, len(stream))
        backend = Border(make(), before=freeze)
        case.driver.feed(backend, stream.copy(), 0, len(stream))
        expect_equal(visible(case, backend, stream, len(stream)), expected, "given read-only arrays")

    holds_for(case, seeded(case, (1,)), law)


@check("bad-input")
def check_answers_are_the_callers(make: Make, case: Case) -> None:
    """An answer never changes later, and the caller may write to it."""

    def law(stream: Stream) -> None:
        half = len(stream) // 2
        expected = visible(case, fed(make, case, stream, [half]), stream, len(stream))
        answers: list[tuple[Array, Array]] = []

        def keep(answer: Any) -> None:
            answers.extend((array, array.copy()) for array in arrays_of(answer))

        backend = Border(make(), on_return=keep)
        for start, stop in ((0, half), (half, len(stream))):
            case.driver.feed(backend, stream, start, stop)
            case.driver.answers(backend, stream, stop)
        for array, before in answers:
            same = array.tobytes() == before.tobytes()  # bytes, because NaN differs from itself
            expect(same, f"an answer changed from {before.tolist()} to {array.tolist()} after further calls")
        for array, _ in answers:
            if array.flags.writeable:
                array[...] = 1
        got = visible(case, backend, stream, len(stream))
        expect_equal(got, expected, "every array that was answered was overwritten by the caller")

    holds_for(case, seeded(case, (1,)), law)
