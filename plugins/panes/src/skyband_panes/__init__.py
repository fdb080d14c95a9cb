"""A library wrapped for Skyband: an Apache DataSketches HLL for each pane of time."""
