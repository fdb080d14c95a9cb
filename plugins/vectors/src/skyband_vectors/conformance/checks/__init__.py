"""Checks of what only vector matchers do."""

MODULES = ("definition", "edges", "keeping", "sharing", "recall")
