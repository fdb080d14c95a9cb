"""Matchers that share the work on a stream."""

import numpy as np
from skyband.roles.sharding import BOTH, BUILD, PROBE
from skyband_specs.batching import seeded
from skyband_specs.check import Make, check, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_vectors.conformance.checks.definition import expected, matched
from skyband_vectors.conformance.driver import plain, rows
from skyband_vectors.conformance.streams import VectorStream

COUNT = 2


@check("oracle", guarantees=("exact",))
def check_vectors_are_compared_by_their_parts(make: Make, case: Case) -> None:
    """Two vectors match iff the earlier is BUILD and the later PROBE, after a restore too; all are counted."""
    does = [0, BOTH] if case.parameters.get("keep") == "first" else [0, PROBE, BUILD, BOTH]

    def law(stream: VectorStream) -> None:
        parts = np.random.default_rng(len(stream)).choice(does, len(stream)).astype(np.int8)
        backend, got = make(), []
        for start in range(0, len(stream), 20):
            stop = min(start + 20, len(stream))
            got += plain(backend.update(*rows(backend, stream, start, stop), parts[start:stop]))
            if case.has("snapshot"):
                backend = case.restore(backend.snapshot())
        expect_equal(got, expected(case.parameters, stream, parts), f"matches with parts {parts.tolist()}")
        expect_equal(backend.seen, len(stream), "vectors seen, of any part")

    holds_for(case, seeded(case, (1, 2)), law)


@check("oracle", guarantees=("exact",))
def check_the_cells_of_a_matrix_find_every_match_once(make: Make, case: Case) -> None:
    """If vectors are kept in the cells of a row and compared in those of a column, the cells report each match once."""
    if case.parameters.get("keep") == "first" or case.parameters.get("threshold") is None:
        return

    def law(stream: VectorStream) -> None:
        rng = np.random.default_rng(len(stream))
        line, column = rng.integers(0, 2, len(stream)), rng.integers(0, 3, len(stream))
        together: list[list[tuple[int, float]]] = [[] for _ in range(len(stream))]
        for cell in range(6):
            parts = (BUILD * (line == cell // 3) + PROBE * (column == cell % 3)).astype(np.int8)
            for row, matches in enumerate(matched(make(matches="all"), stream, [], parts)):
                together[row] += matches
        whole = matched(make(matches="all"), stream, [])
        expect_equal([sorted(matches) for matches in together], whole, "matches reported by six cells")

    holds_for(case, seeded(case, (1, 2)), law)
