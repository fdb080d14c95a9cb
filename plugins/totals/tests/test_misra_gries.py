"""States of misra-gries in which a stretch of the stream holds no object that may be heavy."""

import numpy as np
import skyband


def test_a_stretch_of_objects_that_come_once_is_restored():
    ranker = skyband.create("total-ranker", "misra-gries", windows=(100_000,), every=1000, k=3, epsilon=0.25)
    times = np.arange(50_000)
    ranker.update(times, times)
    blob = ranker.snapshot()
    again = skyband.restore(blob)
    assert again.snapshot() == blob
    for other in (ranker, again):
        other.update(times + 50_000, np.full(50_000, -1))
        other.advance(100_000)
    assert again.snapshot() == ranker.snapshot()
    top = again.top(0)
    assert top.objects[0] == -1
    assert top.low[0] <= 50_000 <= top.high[0]
