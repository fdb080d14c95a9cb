"""Conformance of the sketches of this distribution with their role."""

from skyband_specs.suite import *  # noqa: F403

DISTRIBUTION = "skyband-distinct"
