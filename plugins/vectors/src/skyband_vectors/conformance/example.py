"""Four vectors arrive one by one; each is matched with near ones of the last 100 moments."""

import skyband

matcher = skyband.create("vector-matcher", "exact", dimensions=3, window=100, threshold=0.9)
vectors = [[1.0, 0.0, 0.0], [0.0, 2.0, 1.0], [3.0, 1.0, 0.0], [0.0, 4.0, 2.0]]
cuts, earlier, similarity = matcher.update(times=[0, 10, 20, 30], vectors=vectors)
print("matches of each:", cuts[1:] - cuts[:-1], "with", earlier, similarity.round(3))
matcher.advance(115)  # the first two have expired
print("held:", len(matcher))
restored = skyband.restore(matcher.snapshot())
print("restored is equal:", restored == matcher)
