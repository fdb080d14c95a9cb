"""Sequences: steps that one key takes in order, within a window."""
