"""Every backend of this distribution keeps the contract of its role: one test a check."""

DISTRIBUTION = "skyband-mine"

from skyband_specs.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
