"""Objects are scored by the reports of two streams; the best two in the last 100 moments."""

import skyband

ranker = skyband.create("object-ranker", "eaa", k=2, window=100, streams=2, aggregate="sum")
ranker.update(times=[1, 5, 10], streams=[0, 0, 1], objects=[7, 8, 7], values=[0.5, 0.25, 0.75])
print("at", ranker.now, *ranker.top())
ranker.update(times=[20, 30, 40], streams=[1, 0, 1], objects=[8, 9, 9], values=[0.5, 0.125, 1.0])
print("at", ranker.now, *ranker.top())
ranker.advance(102)  # object 7's report at time 1 has expired
print("at", ranker.now, *ranker.top())
restored = skyband.restore(ranker.snapshot())
print(len(ranker), "retained; restored is equal:", restored == ranker)
