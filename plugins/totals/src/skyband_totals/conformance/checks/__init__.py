"""Checks of total-rankers."""

MODULES = ("answers", "turnover", "merging", "refusals")
