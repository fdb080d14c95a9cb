"""Durations of a few requests: the median and the slowest of the last 100 moments, and the share above 400."""

import skyband

sketch = skyband.create("quantile-sketch", "exact", longest=100)
sketch.update(times=[0, 5, 10, 20, 25], values=[120.0, 80.0, 950.0, 35.0, 410.0])
print(sketch.quantiles(since=0, at=[0.5, 1.0])[:, 0])
print(sketch.shares(since=0, above=[400.0])[:, 0], "of", int(sketch.count(0)[0]), "rows")
print(sketch.quantile(since=20, q=0.5))
restored = skyband.restore(sketch.snapshot())
print("restored is equal:", restored == sketch)
