"""Sets of numbered words arrive one by one: the two most similar pairs in the last 100 moments."""

import skyband

ranker = skyband.create("pair-ranker", "swoop", k=2, window=100, similarity="jaccard")
ranker.update(times=[0, 10, 20], offsets=[0, 3, 5, 8], tokens=[1, 2, 3, 7, 8, 1, 2, 4])  # {1 2 3}, {7 8}, {1 2 4}
print("at", ranker.now, *ranker.top())
ranker.update(times=[30, 40], offsets=[0, 3, 6], tokens=[1, 2, 4, 7, 8, 9])  # {1 2 4}, {7 8 9}
print("at", ranker.now, *ranker.top())
ranker.advance(115)  # sets 0 and 1 have expired
print("at", ranker.now, *ranker.top())
restored = skyband.restore(ranker.snapshot())
print(len(ranker), "retained; restored is equal:", restored == ranker)
