"""Every query of this distribution keeps the contract of queries: one test a check."""

DISTRIBUTION = "skyband-mine"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
