"""How backends of the role object-ranker are tried."""
