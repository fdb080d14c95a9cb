"""uncertain-sum and uncertain-join meet the contract of queries: one test per query and check."""

DISTRIBUTION = "skyband-uncertain"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
