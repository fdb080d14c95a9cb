"""uncertain-sum: the sum of the last tuples that exist, where they may not."""
