"""Conformance of heavy-hitters with the contract of queries: one test for each check."""

import pytest

DISTRIBUTION = "skyband-totals"
pytestmark = pytest.mark.slow

from skyband_specs.queries.suite import *  # noqa: E402, F403 - the suite looks for DISTRIBUTION here
