"""What only quantile sketches do."""

MODULES = ("answers", "bounds", "merging", "refusals")
