"""The contract of queries, kept by top-k-workload: one test a query and check."""

DISTRIBUTION = "skyband-workload"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
