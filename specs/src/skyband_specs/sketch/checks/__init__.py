"""What only sketches do."""

MODULES = ("accuracy", "merge", "edges", "memory", "sums", "together")
