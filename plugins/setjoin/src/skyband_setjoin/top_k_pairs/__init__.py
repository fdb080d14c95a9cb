"""top-k-pairs: the most similar pairs of sets in each window."""
