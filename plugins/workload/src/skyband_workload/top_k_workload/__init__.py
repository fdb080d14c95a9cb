"""top-k-workload: many top-k queries over one stream, answered together."""
