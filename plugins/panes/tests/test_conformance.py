"""Conformance of the sketch of this distribution with its role."""

from skyband_specs.suite import *  # noqa: F403

DISTRIBUTION = "skyband-panes"
