"""Conformance of the total-rankers of this distribution with their role."""

from skyband_specs.suite import *  # noqa: F403

DISTRIBUTION = "skyband-totals"
