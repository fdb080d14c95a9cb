"""Sets of numbered words arrive one by one; each is matched with similar ones of the last 100 moments."""

import skyband

matcher = skyband.create("set-matcher", "prefix", threshold=0.5, window=100, similarity="jaccard")
cuts, earlier, similarity = matcher.update(
    times=[0, 10, 20], offsets=[0, 3, 5, 8], tokens=[1, 2, 3, 7, 8, 1, 2, 4]
)  # {1 2 3}, {7 8}, {1 2 4}
print("matches of each:", cuts[1:] - cuts[:-1], "with", earlier, similarity)
matcher.advance(115)  # sets 0 and 1 have expired
print("held:", len(matcher))
restored = skyband.restore(matcher.snapshot())
print("restored is equal:", restored == matcher)
