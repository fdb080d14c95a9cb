"""Engines run a query's operator: the interface, and the local engine in this process."""
