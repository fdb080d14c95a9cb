"""How all tests are shared out where several run at once."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that start Spark go to one process, so that there is one session, and first, so that none waits for them."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if item.get_closest_marker("spark"):
                item.add_marker(pytest.mark.xdist_group("spark"))
