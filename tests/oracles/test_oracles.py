"""The engine answers as the pages say, for a few streams of each query; `tox -e oracles` plays more."""

import pytest
from skyband.queries import kinds

from . import KINDS, steps_of
from .distinct_count import DistinctCount
from .playing import Difference, play
from .run_oracles import main

SEEDS = range(12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_answers_as_the_pages_say(kind):
    assert sum(steps_of(kind, seed) for seed in SEEDS) > 2 * len(SEEDS)


def test_each_query_has_an_oracle():
    assert set(KINDS) == set(kinds())


class OneRowTooOld(DistinctCount):
    """Counts a row that is just as old as the window is long less one second not."""

    def inside(self, group, at, length):
        return super().inside(group, at, length - 1)


def test_an_edge_of_a_window_that_is_off_by_one_is_seen_and_told_with_its_query():
    differences = []
    for seed in SEEDS:
        try:
            play(OneRowTooOld, seed)
        except Difference as difference:
            differences.append(difference)
    assert len(differences) > len(SEEDS) / 2
    assert all("distinct-count" in note for difference in differences for note in difference.__notes__)


def test_a_difference_prints_the_seed_that_plays_it_again(monkeypatch, capsys):
    monkeypatch.setitem(KINDS, "distinct-count", OneRowTooOld)
    assert main(minutes=0.02, seed=None, kinds=["distinct-count"]) == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("--query"))
    assert line.startswith("--query distinct-count --seed ")
    with pytest.raises(Difference):
        main(minutes=0, seed=int(line.rpartition(" ")[2]), kinds=["distinct-count"])
