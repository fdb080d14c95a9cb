"""keep = "first" keeps one set of each kind: its two laws, and what follows from them."""

from skyband_specs.batching import seeded
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_setjoin.conformance.checks.definition import expected, matched
from skyband_setjoin.conformance.driver import sets_of
from skyband_setjoin.conformance.oracle import similarity_of
from skyband_setjoin.conformance.streams import PairStream, stream_of

COUNT = 3


@check("oracle", guarantees=("exact",))
def check_no_two_kept_sets_match_and_every_dropped_one_matched_a_kept_one(make: Make, case: Case) -> None:
    """The two laws of a deduplicated stream, verified from the answers alone."""
    if case.parameters.get("sides", 1) == 2:
        return
    by_rows = case.parameters.get("by") == "rows"
    score, threshold = similarity_of(case.parameters), case.parameters["threshold"]

    def match(old: frozenset[int], new: frozenset[int]) -> bool:
        common = len(old & new)
        return common > 0 and score(common, len(old), len(new)) >= threshold

    def law(stream: PairStream) -> None:
        answers = matched(make(keep="first", matches="all"), stream, [])
        kept_rows = [row for row, matches_of_row in enumerate(answers) if not matches_of_row]
        sets = sets_of(stream)
        times = range(len(stream)) if by_rows else stream.times.tolist()
        for row, matches_of_row in enumerate(answers):
            dropped = [old for old, _ in matches_of_row if answers[old]]
            expect(not dropped, f"set {row} reports matches {dropped}, which were dropped")
        for place, new in enumerate(kept_rows):
            for old in kept_rows[:place]:
                both = times[new] - times[old] + by_rows <= case.parameters["window"] and match(sets[old], sets[new])
                expect(not both, f"sets {old} and {new} match, and both are kept")

    holds_for(case, seeded(case), law)


@check("oracle", guarantees=("exact",), once=True)
def check_after_a_kept_set_expires_the_next_is_kept(make: Make, case: Case) -> None:
    """A set that keeps arriving is kept once per window; two sets linked only by a dropped one are both kept."""
    parameters = {"threshold": 0.6, "window": 3, "matches": 1, "keep": "first", "sides": 1}
    again = stream_of([[1, 2]] * 10, list(range(10)))
    matches_of_row = matched(make(**parameters), again, [4])
    kept_rows = [row for row, matches in enumerate(matches_of_row) if not matches]
    expect_equal(kept_rows, [0, 4, 8], "sets kept of ten equal ones, with a window of 3")
    expect_equal(
        [matches[0][0] for matches in matches_of_row if matches], [0, 0, 0, 4, 4, 4, 8], "kept sets matched by others"
    )
    chain = stream_of([[1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]])
    expect_equal(matched(make(**parameters), chain, []), expected(parameters, chain), "matches of a chain")
    expect_equal(matched(make(**parameters), chain, [])[2], [], "matches of a set similar only to a dropped one")


@check("oracle", guarantees=("exact",))
def check_a_flood_of_equal_sets_reports_the_earliest(make: Make, case: Case) -> None:
    """Of hundreds of equal sets the k earliest in the window are reported: on a tie the earlier."""
    sets = [[5, 9, 14] if row % 7 else [row, 9, 14] for row in range(300)]
    stream = stream_of(sets)
    for matches in (1, 3, "all"):
        parameters = {**case.parameters, "matches": matches, "window": 50}
        got = matched(make(matches=matches, window=50), stream, [100, 101])
        expect_equal(got, expected(parameters, stream), f"matches of equal sets, {matches} of them")
