"""Backends of one role beside each other: the same rows, answers against the exact ones, memory and time."""
