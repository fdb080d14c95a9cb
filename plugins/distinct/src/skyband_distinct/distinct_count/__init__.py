"""distinct-count: the number of distinct items in each window."""
