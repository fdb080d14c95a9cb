"""How all tests are shared out where several run at once."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that start Spark go first, so that none waits for them, and to one process: there is one session."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if item.get_closest_marker("spark"):
                item.add_marker(pytest.mark.xdist_group("spark"))
