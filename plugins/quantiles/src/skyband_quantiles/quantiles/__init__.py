"""The query quantiles: what it asks, and how the groups of its stream are answered."""
