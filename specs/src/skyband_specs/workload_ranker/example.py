"""Two queries over one stream: the best of the last 4 moments every 2, the best two of the last 8 every 4."""

import numpy as np
import skyband

ranker = skyband.create("workload-ranker", "paneband", queries=[(4, 2, 1), (8, 4, 2)])  # window, slide, k
scores = np.array([5.0, 3, 4, 1, 2, 6, 0, 7, 8])
for answer in ranker.update(times=np.arange(9), objects=np.arange(9), scores=scores):
    print("at", answer.at, "query", answer.query, answer.objects, answer.scores)
restored = skyband.restore(ranker.snapshot())
print(len(ranker), "retained; restored is equal:", restored == ranker)
