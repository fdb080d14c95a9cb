"""Measured positions, each a few samples with probabilities: which are within half a metre of a probe?"""

import skyband

matcher = skyband.create("matcher", "block", epsilon=0.5, beta=0.2)
matcher.append(
    offsets=[0, 2, 4, 5],  # three tuples: samples 0 and 1, 2 and 3, 4
    values=[1.0, 1.4, 2.0, 5.0, 9.0],
    probabilities=[0.5, 0.5, 0.6, 0.4, 0.9],
)
print(*matcher.match(values=[1.6, 2.2], probabilities=[0.5, 0.5]))
matcher.evict(1)  # the oldest tuple has left the window
print(*matcher.match(values=[1.6, 2.2], probabilities=[0.5, 0.5]))
restored = skyband.restore(matcher.snapshot())
print(len(matcher), "held; restored is equal:", restored == matcher)
