"""How backends of the role pair-ranker are tried."""
