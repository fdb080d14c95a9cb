"""What the workload-ranker interface does itself: flat answers, checking and changing queries."""

import numpy as np
import pytest
from attrs import define
from skyband.config.parameters import build
from skyband.errors import ConfigError
from skyband.roles import Answer, Answers, TopKQuery, WorkloadRanker


@define(eq=False)
class Idle(WorkloadRanker):
    """A ranker without answers."""

    name = "idle"

    def _update(self, times, objects, scores):
        return []

    def _answers_until(self, now):
        return []

    def __len__(self):
        return 0

    @property
    def nbytes(self):
        return 0

    def _state(self):
        return {}

    def _load(self, state):
        pass


class Changeable(Idle):
    """A ranker that accepts any queries."""

    def _reconfigure(self, queries):
        self.seen = queries


def some_answers():
    sizes = [2, 0, 3]
    return [Answer(n, 10 * n, np.arange(size), np.arange(size) / 2) for n, size in enumerate(sizes)]


def plain(answer):
    return answer.query, answer.at, answer.objects.tolist(), answer.scores.tolist()


def test_answers_are_a_sequence_over_flat_arrays():
    given = some_answers()
    flat = Answers.of(given)
    assert flat.offsets.tolist() == [0, 2, 2, 5]
    assert len(flat) == 3
    assert list(map(plain, flat)) == list(map(plain, given))
    assert plain(flat[-1]) == plain(given[2])
    assert list(map(plain, flat[1:])) == list(map(plain, given[1:]))
    assert Answers.of(flat) is flat
    assert len(Answers.of([])) == 0
    with pytest.raises(IndexError):
        flat[3]


def test_every_wrong_query_is_reported():
    with pytest.raises(ConfigError) as caught:
        build(Idle, {"queries": [(0, 1, 1), (1, 1, 1), (1, 2), (1, 1, 2**63)]})
    assert [problem.field for problem in caught.value.problems] == ["queries[0].window", "queries[2]", "queries[3].k"]


def test_a_backend_may_refuse_to_change_its_queries():
    ranker = Idle(queries=[(4, 2, 1)])
    with pytest.raises(ConfigError, match="cannot change its queries"):
        ranker.reconfigure([(4, 2, 2)])
    assert ranker.queries == (TopKQuery(4, 2, 1),)


def test_changed_queries_become_the_parameters():
    ranker = Changeable(queries=[(4, 2, 1)])
    with pytest.raises(ConfigError, match=r"queries\[0\]\.k"):
        ranker.reconfigure([(4, 2, 0)])
    assert ranker.queries == (TopKQuery(4, 2, 1),)
    ranker.reconfigure([(6, np.int64(3), 2, 1)])
    assert ranker.parameters()["queries"] == ranker.seen == (TopKQuery(6, 3, 2, 1),)
