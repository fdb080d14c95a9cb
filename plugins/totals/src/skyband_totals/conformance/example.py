"""The requests of three clients: the two busiest of the last 100 moments."""

import skyband

ranker = skyband.create("total-ranker", "exact", k=2, windows=(100,), every=10)
ranker.update(times=[0, 5, 10, 20, 25], objects=[7, 8, 7, 9, 7])
ranker.advance(30)
best = ranker.top(0)
print(best.objects, best.totals, "of", best.grand)
ranker.advance(110)  # the rows before 10 have expired
print(ranker.top(0).objects, ranker.top(0).totals)
restored = skyband.restore(ranker.snapshot())
print("restored is equal:", restored == ranker)
