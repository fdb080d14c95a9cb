"""Conformance of heavy-hitters and row-features with the contract of queries: one test for each check."""

DISTRIBUTION = "skyband-totals"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
