"""Backends of the workload-ranker: many (window, slide, k) queries over one stream."""
