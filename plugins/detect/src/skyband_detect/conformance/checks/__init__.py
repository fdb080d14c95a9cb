"""The checks of key-counters only."""

MODULES = ("answers", "merging", "refusals")
