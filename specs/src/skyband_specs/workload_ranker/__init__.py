"""How backends of the role workload-ranker are tried."""
