"""The queries meet their contract: one test per check."""

import pytest

DISTRIBUTION = "skyband-setjoin"
pytestmark = pytest.mark.slow

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
