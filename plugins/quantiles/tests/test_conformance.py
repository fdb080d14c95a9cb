"""Every backend of this distribution does what its role asks."""

from skyband_specs.suite import *  # noqa: F403

DISTRIBUTION = "skyband-quantiles"
