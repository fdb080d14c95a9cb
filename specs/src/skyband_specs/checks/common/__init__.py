"""Checks that hold for every role, one module a group."""

MODULES = ("oracle", "determinism", "batch_split", "snapshot", "edges", "bad_input", "memory")
