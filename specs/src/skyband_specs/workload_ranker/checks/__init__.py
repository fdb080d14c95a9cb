"""What only workload rankers do."""

MODULES = ("answers", "subqueries")
