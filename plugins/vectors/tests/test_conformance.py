"""Every backend of this distribution meets the contract of its role."""

from skyband_specs.suite import *  # noqa: F403

DISTRIBUTION = "skyband-vectors"
