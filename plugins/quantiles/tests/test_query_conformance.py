"""The conformance checks of quantiles: a test for each."""

import pytest

DISTRIBUTION = "skyband-quantiles"
pytestmark = pytest.mark.slow

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
