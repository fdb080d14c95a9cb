"""Conformance of distinct-count with the contract of queries: one test for each query and check."""

DISTRIBUTION = "skyband-distinct"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
