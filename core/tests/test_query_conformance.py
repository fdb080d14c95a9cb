"""Core's queries keep the contract of queries: one test a query and check."""

DISTRIBUTION = "skyband"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
