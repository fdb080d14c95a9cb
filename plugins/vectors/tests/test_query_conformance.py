"""The query meets its contract: one test per check."""

DISTRIBUTION = "skyband-vectors"

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
