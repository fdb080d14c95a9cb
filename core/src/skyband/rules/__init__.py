"""Rules: windows that are added, changed and removed for all groups while a query runs."""
