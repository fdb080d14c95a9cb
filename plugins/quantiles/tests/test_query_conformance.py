"""quantiles keeps the contract of queries: one test a check."""

import pytest

DISTRIBUTION = "skyband-quantiles"
pytestmark = pytest.mark.slow

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
