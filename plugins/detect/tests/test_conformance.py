"""The conformance checks of every backend of this distribution."""

from skyband_specs.suite import *  # noqa: F403

DISTRIBUTION = "skyband-detect"
