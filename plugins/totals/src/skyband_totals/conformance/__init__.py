"""Conformance of total-rankers: a driver for the common checks, an oracle, streams, and its own checks.

Needs `skyband-specs`; the backends do not.
"""
