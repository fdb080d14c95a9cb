"""top-k meets the contract of queries: one test per check."""

DISTRIBUTION = "skyband-incomplete"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
