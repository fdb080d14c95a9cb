"""keep = "first" keeps one vector of each kind, and the most similar ones are reported first."""

from skyband_specs.batching import seeded
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_vectors.conformance import oracle
from skyband_vectors.conformance.checks.definition import WHOLE, expected, matched
from skyband_vectors.conformance.streams import VectorStream, stream_of

COUNT = 3


@check("oracle", guarantees=("exact",))
def check_no_two_kept_vectors_match_and_every_dropped_one_matched_a_kept_one(make: Make, case: Case) -> None:
    """The two laws of a deduplicated stream, verified from the answers alone."""
    if case.parameters.get("sides", 1) == 2 or case.parameters.get("threshold") is None:
        return
    by_rows = case.parameters.get("by") == "rows"
    kind, threshold = case.parameters.get("similarity", "cosine"), case.parameters["threshold"]

    def law(stream: VectorStream) -> None:
        answers = matched(make(keep="first", matches="all"), stream, [])
        kept_rows = [row for row, matches_of_row in enumerate(answers) if not matches_of_row]
        times, vectors = range(len(stream)) if by_rows else stream.times.tolist(), stream.vectors.tolist()
        for row, matches_of_row in enumerate(answers):
            dropped = [old for old, _ in matches_of_row if answers[old]]
            expect(not dropped, f"vector {row} reports matches {dropped}, which were dropped")
        for place, new in enumerate(kept_rows):
            for old in kept_rows[:place]:
                if times[new] - times[old] + by_rows <= case.parameters["window"]:
                    value = oracle.similarity(kind, vectors[old], vectors[new])
                    expect(value < threshold, f"vectors {old} and {new} match, and both are kept")

    holds_for(case, seeded(case, (1,)), law)


@check("oracle", guarantees=("exact",), once=True)
def check_after_a_kept_vector_expires_the_next_is_kept(make: Make, case: Case) -> None:
    """A vector that keeps arriving is kept once per window; two linked only by a dropped one are both kept."""
    parameters = {**WHOLE, "dimensions": 2, "window": 3, "threshold": 0.9, "similarity": "cosine"}
    parameters |= {"matches": 1, "keep": "first"}
    again = stream_of([[1, 2]] * 10)
    matches_of_row = matched(make(**parameters), again, [4])
    kept_rows = [row for row, matches in enumerate(matches_of_row) if not matches]
    expect_equal(kept_rows, [0, 4, 8], "vectors kept of ten equal ones, with a window of 3")
    chain = stream_of([[1, 0], [0.95, 0.3122499], [0.8, 0.6]])
    expect_equal([len(row) for row in matched(make(**parameters), chain, [])], [0, 1, 0], "matches of a chain")


@check("oracle", guarantees=("exact",))
def check_a_flood_of_equal_vectors_reports_the_earliest(make: Make, case: Case) -> None:
    """Of hundreds of equal vectors the k earliest in the window are reported: on a tie the earlier."""
    dimensions = case.parameters["dimensions"]
    vectors = [[1.0] * dimensions if row % 7 else [-1.0] * dimensions for row in range(300)]
    stream = stream_of(vectors)
    for matches in (1, 3, "all"):
        if case.parameters.get("threshold") is None and matches == "all":
            continue
        parameters = {**case.parameters, "matches": matches, "window": 50}
        got = matched(make(matches=matches, window=50), stream, [100, 101])
        expect_equal(got, expected(parameters, stream), f"matches of equal vectors, {matches} of them")
