DISTRIBUTION = "skyband-uncertain"

from skyband_specs.suite import *  # noqa: E402, F403
