"""What only total-rankers do."""

MODULES = ("answers", "turnover", "merging", "refusals")
