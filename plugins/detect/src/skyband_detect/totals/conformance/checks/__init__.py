"""The checks of key-totals only."""

MODULES = ("reached", "merged_totals", "limits")
