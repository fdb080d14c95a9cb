"""The k most similar pairs of sets in a sliding window: SWOOP and what its paper compares it with."""
