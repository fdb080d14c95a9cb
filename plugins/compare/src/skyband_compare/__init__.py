"""Compares backends, draws answers and tests jobs: the commands compare, bench, plot and test."""
