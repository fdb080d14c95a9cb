"""Scores by a function equal a call for each row, but cached values are not computed again."""

import numpy as np
import pytest
from skyband_incomplete.top_k import small_groups
from skyband_incomplete.top_k.small_groups import CalledScores


@pytest.mark.parametrize("most", [0, 1 << 16])
def test_cached_values_are_not_computed_again(most, monkeypatch):
    monkeypatch.setattr(small_groups, "_MOST_KNOWN", most)
    called = []

    def score(row):
        called.append(tuple(row))
        row *= 2  # it may change its argument
        return float(row.sum())

    scores, rng, remembered = CalledScores(score, 2), np.random.default_rng(1), set()
    for rows in (5, 0, 40, 40, 0, 40):
        vectors = rng.integers(0, 5, (rows, 2)) / 2
        wanted = set(map(tuple, vectors))
        np.testing.assert_array_equal(scores.evaluate(vectors), 2 * vectors.sum(axis=1))
        assert sorted(called) == sorted(wanted - remembered)
        remembered = wanted | (remembered if most else set())
        called.clear()


def test_the_best_of_each_answer_are_ordered_by_score_then_object():
    scores = CalledScores(lambda row: float(row[0]), 1)
    stretch, moment = np.array([0, 0, 0, 0, 1, 1]), np.array([3, 3, 3, 4, 4, 4])
    objects = np.array([7, 5, 6, 7, 9, 8])
    places, ranks, best = scores.best(stretch, moment, objects, np.array([[1.0], [1.0], [2.0], [0.0], [3.0], [4.0]]), 2)
    assert objects[places].tolist() == [6, 5, 7, 8, 9]
    assert ranks.tolist() == [1, 2, 1, 1, 2]
    assert best.tolist() == [2.0, 1.0, 0.0, 4.0, 3.0]
