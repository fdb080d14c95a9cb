"""The same input gives the same answers and bytes, in any process at any time."""

from skyband_specs.batching import fed, seeded, visible
from skyband_specs.check import Make, check, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.fresh_process import digest, digest_in_fresh_process
from skyband_specs.stream import Stream

COUNT = 3
BETWEEN = 8
"""Rows that arrive one at a time, each followed by a question: results cached for the last one must not be reused."""


@check("determinism")
def check_two_backends_agree(make: Make, case: Case) -> None:
    """Two backends of one process with the same rows are indistinguishable."""

    def law(stream: Stream) -> None:
        first, second = (visible(case, fed(make, case, stream), stream, len(stream)) for _ in range(2))
        expect_equal(second, first, "the second backend of this process")

    holds_for(case, seeded(case), law)


@check("determinism", once=True)
def check_fresh_process_agrees(make: Make, case: Case) -> None:
    """A new process with another PYTHONHASHSEED gives the same answers and bytes."""
    expect_equal(digest_in_fresh_process(case, seed=1), digest(make, case, seed=1), "digest in a fresh process")


@check("determinism")
def check_asking_changes_nothing(make: Make, case: Case) -> None:
    """Answers are the same when asked twice or after every row, and asking does not influence later answers.

    Also where times are far apart, or at the limits of the contract.
    """

    def law(stream: Stream) -> None:
        half = len(stream) // 2
        few = min(half + BETWEEN, len(stream))
        queried, undisturbed = make(), make()
        case.driver.feed(queried, stream, 0, half)
        before = visible(case, queried, stream, half)
        expect_equal(visible(case, queried, stream, half), before, "asked again")
        for row in range(half, few):
            case.driver.feed(queried, stream, row, row + 1)
            case.driver.answers(queried, stream, row + 1)
        for start, stop in ((0, half), (half, few)):
            case.driver.feed(undisturbed, stream, start, stop)
        expect_equal(
            visible(case, queried, stream, few),
            visible(case, undisturbed, stream, few),
            f"asked after {half} rows and after each of {few - half} more",
        )
        case.driver.feed(queried, stream, few, len(stream))
        expected = visible(case, fed(make, case, stream, [half, few]), stream, len(stream))
        expect_equal(
            visible(case, queried, stream, len(stream)), expected, f"asked after {half} to {few} rows, at the end"
        )

    odd = [stream for _, stream in case.driver.odd(case)] if case.first or case.long else []
    holds_for(case, [*seeded(case), *odd], law)
