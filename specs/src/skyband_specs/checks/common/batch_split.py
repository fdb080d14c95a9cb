"""The backend is the same however its input is cut into batches."""

from skyband_specs.batching import all_cuts, fed, random_cuts, sampled, seeded, visible
from skyband_specs.check import Make, check, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.stream import Stream

COUNT = 4
MOST_TINY = 100


@check("batch-split")
def check_tiny_streams_row_by_row(make: Make, case: Case) -> None:
    """Short streams give the same row by row as in one batch."""
    holds_for(case, sampled(case, MOST_TINY), lambda stream: _cut(make, case, stream, [all_cuts(len(stream))]))


@check("batch-split")
def check_seeded_streams_row_by_row(make: Make, case: Case) -> None:
    """Longer streams give the same row by row as in one batch."""
    holds_for(case, seeded(case, (1,)), lambda stream: _cut(make, case, stream, [all_cuts(len(stream))]))


@check("batch-split")
def check_random_batches(make: Make, case: Case) -> None:
    """Longer streams give the same in batches of random lengths, some of them empty, as in one batch."""

    def law(stream: Stream) -> None:
        _cut(make, case, stream, [random_cuts(len(stream), seed) for seed in range(4)])

    holds_for(case, seeded(case), law)


@check("batch-split", tries="odd")
def check_odd_streams_row_by_row(make: Make, case: Case) -> None:
    """Streams at the limits of the contract give the same row by row, restored halfway, as in one batch."""

    def law(stream: Stream) -> None:
        whole = visible(case, fed(make, case, stream), stream, len(stream))
        backend = make()
        for row in range(len(stream)):
            if row == len(stream) // 2 and case.has("snapshot"):
                backend = case.restore(backend.snapshot())
            case.driver.feed(backend, stream, row, row + 1)
        expect_equal(visible(case, backend, stream, len(stream)), whole, "row by row, restored halfway")

    holds_for(case, (stream for _, stream in case.driver.odd(case)), law)


def _cut(make: Make, case: Case, stream: Stream, ways: list[list[int]]) -> None:
    whole = visible(case, fed(make, case, stream), stream, len(stream))
    for cuts in ways:
        got = visible(case, fed(make, case, stream, cuts), stream, len(stream))
        expect_equal(got, whole, f"cut after rows {cuts}")
