"""The checks that only workload rankers have."""

MODULES = ("answers", "subqueries")
