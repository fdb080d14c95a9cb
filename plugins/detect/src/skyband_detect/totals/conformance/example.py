"""Bytes that some hosts send: who sends more than 1,000 within 60 seconds, and where that is reached."""

import numpy as np
import skyband

totals = skyband.create("key-total", "window", longest=60)
times = [0, 10, 20, 50, 90, 100]
hosts = np.array([1, 2, 1, 1, 2, 1], np.uint64)
reached = totals.update(times, hosts, [400, 900, 300, 500, 90, 20], windows=[60], at_least=[1000])
for row, count, value in zip(reached.rows, reached.sizes, reached.value, strict=True):
    print(f"host {hosts[row]} has sent {value} bytes in {count} rows at {times[row]}")
restored = skyband.restore(totals.snapshot())
print(len(totals), "values kept; restored is equal:", restored == totals)
