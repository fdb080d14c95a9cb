"""The contract of queries, kept by top-k: one test a query and check."""

DISTRIBUTION = "skyband-incomplete"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
