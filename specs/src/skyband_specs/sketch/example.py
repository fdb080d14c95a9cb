"""A day of visits, one a second: the number of visitors in the last hours, next to the exact number."""

import numpy as np
import pyarrow as pa
import skyband
from skyband.columns.hashing import hash_column

visitors = np.random.default_rng(1).integers(0, 20_000, 86_400)
times = np.arange(86_400) * 1_000_000  # microseconds
sketch = skyband.create("sketch", "pcsa-ml")
sketch.update(times, hash_column(pa.array(visitors)))
for hours in (1, 6, 24):
    since = 86_400 - hours * 3_600
    low, high = sketch.bounds(since * 1_000_000)
    count, exact = sketch.estimate(since * 1_000_000), len(np.unique(visitors[since:]))
    print(f"{hours:2} h: {count:.0f} (from {low:.0f} to {high:.0f}), exactly {exact}")
restored = skyband.restore(sketch.snapshot())
print(len(sketch), "retained; restored is equal:", restored == sketch)
