"""The conformance checks of top-k-workload: a test for each query and check."""

DISTRIBUTION = "skyband-workload"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
