"""The contract of queries, kept by uncertain-sum and uncertain-join: one test a query and check."""

DISTRIBUTION = "skyband-uncertain"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
