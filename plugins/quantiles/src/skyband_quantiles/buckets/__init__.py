"""quantile-sketch/buckets: a history of histograms whose buckets are prefixes of the bits of a float."""
