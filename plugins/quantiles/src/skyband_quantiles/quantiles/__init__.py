"""The query quantiles, and how the groups of its stream are answered."""
