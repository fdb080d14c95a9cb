"""Compares backends of one role on the same rows: accuracy, memory and time."""
