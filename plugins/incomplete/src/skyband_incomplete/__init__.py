"""Top-k over objects that are known only in part: the object-ranker backends sla, eaa and approx."""
