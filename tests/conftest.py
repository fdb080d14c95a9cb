"""In which order all tests run."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that start Spark go first: they wait most, and none should be waited for at the end."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
