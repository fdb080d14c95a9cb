"""Checks of what only set matchers do."""

MODULES = ("definition", "edges", "keeping", "sharing", "recall")
