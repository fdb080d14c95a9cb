"""The edges of a backend's life: before any row, and empty batches."""

from skyband_specs.batching import fed, seeded, visible
from skyband_specs.check import Make, check, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.stream import Stream

COUNT = 2


@check("edges")
def check_empty_batches_change_nothing(make: Make, case: Case) -> None:
    """A batch without rows, at the start, in the middle and at the end, leaves no trace."""

    def law(stream: Stream) -> None:
        half = len(stream) // 2
        plain = visible(case, fed(make, case, stream), stream, len(stream))
        cuts = [0, 0, half, half, len(stream), len(stream)]
        expect_equal(visible(case, fed(make, case, stream, cuts), stream, len(stream)), plain, "with empty batches")

    holds_for(case, seeded(case, (1,)), law)


@check("edges")
def check_new_backend_is_as_asked(make: Make, case: Case) -> None:
    """A new backend has its parameters, answers, and retains nothing."""
    backend = make()
    got = backend.parameters()
    expected = {name: got[name] for name in got if name not in case.parameters}
    restated = make(**got).parameters()
    expect_equal(restated, got, "parameters, given back to a new backend")
    expect_equal(set(expected) | set(case.parameters), set(got), "names of parameters")
    expect_equal(len(backend), 0, "items retained by a new backend")
    case.driver.answers(backend, case.driver.seeded(case, 1), 0)
