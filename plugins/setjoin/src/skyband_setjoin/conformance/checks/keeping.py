"""keep = "first" keeps one of each: its two laws, and what comes of them."""

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
    """The two laws of a deduplicated stream, read off the answers alone."""
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
            expect(not dropped, f"set {row} is told to match {dropped}, which were dropped")
        for place, new in enumerate(kept_rows):
            for old in kept_rows[:place]:
                both = times[new] - times[old] + by_rows <= case.parameters["window"] and match(sets[old], sets[new])
                expect(not both, f"sets {old} and {new} match, and both are kept")

    holds_for(case, seeded(case), law)


@check("oracle", guarantees=("exact",), once=True)
def check_when_the_kept_one_is_too_old_the_next_is_kept(make: Make, case: Case) -> None:
    """A set that comes for ever is kept once in each window; those that hang together by a dropped one both stay."""
    parameters = {"threshold": 0.6, "window": 3, "matches": 1, "keep": "first", "sides": 1}
    again = stream_of([[1, 2]] * 10, list(range(10)))
    matches_of_row = matched(make(**parameters), again, [4])
    kept_rows = [row for row, matches in enumerate(matches_of_row) if not matches]
    expect_equal(kept_rows, [0, 4, 8], "sets kept of ten that are equal, a window being 3")
    expect_equal(
        [matches[0][0] for matches in matches_of_row if matches], [0, 0, 0, 4, 4, 4, 8], "kept sets that they matched"
    )
    chain = stream_of([[1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]])
    expect_equal(matched(make(**parameters), chain, []), expected(parameters, chain), "matches of a chain")
    expect_equal(matched(make(**parameters), chain, [])[2], [], "matches of a chain's last, like a dropped one only")


@check("oracle", guarantees=("exact",))
def check_a_flood_of_equal_sets_is_told_the_earliest(make: Make, case: Case) -> None:
    """Hundreds of equal sets: the k earliest in the window are told, and of two equally similar the earlier."""
    sets = [[5, 9, 14] if row % 7 else [row, 9, 14] for row in range(300)]
    stream = stream_of(sets)
    for matches in (1, 3, "all"):
        parameters = {**case.parameters, "matches": matches, "window": 50}
        got = matched(make(matches=matches, window=50), stream, [100, 101])
        expect_equal(got, expected(parameters, stream), f"matches of equal sets, {matches} of them")
