"""The checks that only sketches have."""

MODULES = ("accuracy", "merge", "edges", "memory", "sums", "together")
