"""Distinct counts from an Apache DataSketches HLL for each pane of time."""
