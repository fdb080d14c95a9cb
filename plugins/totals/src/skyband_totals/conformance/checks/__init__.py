"""What only total-rankers do."""

MODULES = ("answers", "merging", "refusals")
