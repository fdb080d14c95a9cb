"""The contract of queries, kept by distinct-count: one test a query and check."""

DISTRIBUTION = "skyband-distinct"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
