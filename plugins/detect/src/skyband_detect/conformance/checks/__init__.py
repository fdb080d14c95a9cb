"""The checks of key-counters only."""

MODULES = ("answers", "falls", "merging", "refusals")
