"""Checks for every role, one module a group."""

MODULES = (
    "oracle",
    "determinism",
    "batch_split",
    "snapshot",
    "trust",
    "edges",
    "bad_input",
    "threads",
    "memory",
    "scale",
)
