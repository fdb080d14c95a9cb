"""Conformance of detections with the contract of queries: one test for each check."""

DISTRIBUTION = "skyband-detect"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
