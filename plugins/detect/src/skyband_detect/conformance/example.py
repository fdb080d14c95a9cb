"""Failed logins of some users: who has three within 60 seconds, and where the third one is."""

import numpy as np
import skyband

counter = skyband.create("key-counter", "newest", longest=60, most=3)
times = [0, 10, 20, 50, 90, 100]
users = np.array([1, 2, 1, 1, 2, 1], np.uint64)
crossings = counter.update(times, users, windows=[60, 60], at_least=[2, 3])
for row, bound, value in zip(crossings.rows, crossings.asks, crossings.value, strict=True):
    print(f"user {users[row]} has {value} failures at {times[row]}, the bound of {[2, 3][bound]}")
restored = skyband.restore(counter.snapshot())
print(len(counter), "times kept; restored is equal:", restored == counter)
