import numpy as np
import pytest
import skyband
from skyband_specs.batching import fed, seeded
from skyband_specs.check import expect
from skyband_specs.counterexample import Counterexample, holds_for, shrink, snippet
from skyband_specs.sketch.streams import SketchStream, random_keys


def numbered(rows):
    return SketchStream(np.arange(rows, dtype=np.int64), np.arange(rows, dtype=np.uint64))


def test_a_law_that_holds_raises_nothing(toy_case):
    holds_for(toy_case, seeded(toy_case), lambda stream: expect(len(stream) > 0, "empty"))


@pytest.mark.parametrize("needed", [{3}, {3, 77}, {0, 50, 99}, set(range(40, 60)), set()])
def test_shrinks_to_the_rows_that_matter(needed):
    shortest = shrink(numbered(100), lambda stream: needed <= set(stream.times.tolist()))
    assert set(shortest.times.tolist()) == needed


def test_a_stream_that_cannot_be_shortened_stays(toy_case):
    assert len(shrink(numbered(30), lambda stream: len(stream) == 30)) == 30


def test_the_shortest_stream_keeps_the_kind_of_failure(toy_case):
    def law(stream):
        if len(stream) < 3:
            raise ZeroDivisionError
        expect(len(stream) < 5, f"{len(stream)} rows")

    with pytest.raises(Counterexample) as caught:
        holds_for(toy_case, [numbered(20)], law)
    assert caught.value.reason == "5 rows"


def test_a_crash_is_a_counterexample(toy_case):
    with pytest.raises(Counterexample, match="ZeroDivisionError") as caught:
        holds_for(toy_case, [numbered(9)], lambda stream: 1 / (len(stream) < 4))
    assert len(caught.value.snippet.splitlines()) == 3


def test_the_snippet_runs_and_makes_the_same_backend(toy_case, monkeypatch):
    stream = random_keys(1, 5)
    monkeypatch.setattr(skyband, "create", lambda role, name, **given: toy_case.make(**given), raising=False)
    names = {}
    exec(snippet(toy_case, stream), names)
    assert names["backend"] == fed(toy_case.make, toy_case, stream)
