"""workload-ranker/frozen-workload-ranker: the rows of the windows to come, sorted whenever an answer is due."""
