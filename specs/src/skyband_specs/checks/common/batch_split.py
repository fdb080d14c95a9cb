"""However the input is cut into batches, the backend is the same."""

from itertools import islice

from skyband_specs.check import Make, check, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.feeding import all_cuts, fed, random_cuts, seeded, visible
from skyband_specs.stream import Stream

COUNT = 3
MOST_TINY = 400


@check("batch-split")
def check_tiny_streams_row_by_row(make: Make, case: Case) -> None:
    """Short streams: row by row as in one batch."""
    holds_for(
        case, islice(case.driver.tiny(case), MOST_TINY), lambda stream: _cut(make, case, stream, all_cuts(len(stream)))
    )


@check("batch-split")
def check_seeded_streams_row_by_row(make: Make, case: Case) -> None:
    """Longer streams: row by row as in one batch."""
    holds_for(case, seeded(case, (1,)), lambda stream: _cut(make, case, stream, all_cuts(len(stream))))


@check("batch-split")
def check_random_batches(make: Make, case: Case) -> None:
    """Longer streams: in batches of random lengths, empty ones among them, as in one batch."""

    def law(stream: Stream) -> None:
        for seed in range(4):
            _cut(make, case, stream, random_cuts(len(stream), seed))

    holds_for(case, seeded(case), law)


def _cut(make: Make, case: Case, stream: Stream, cuts: list[int]) -> None:
    whole = visible(case, fed(make, case, stream), stream, len(stream))
    expect_equal(visible(case, fed(make, case, stream, cuts), stream, len(stream)), whole, f"cut after rows {cuts}")
