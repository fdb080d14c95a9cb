"""The checks of quantile sketches only."""

MODULES = ("answers", "bounds", "merging", "refusals")
