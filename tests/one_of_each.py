"""`pytest -p one_of_each`: of each test its first case, and of each check of conformance that of one backend a role.

For daily work: a third of the time of all. What CI says is said by all of them.
"""

import pytest
from skyband_specs.check import Check


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After the choice by marks, so that the first case is one that runs."""
    first: dict[tuple[str, ...], pytest.Item] = {}
    for item in items:
        first.setdefault(_test_of(item), item)
    chosen = {id(item) for item in first.values()}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = first.values()


def _test_of(item: pytest.Item) -> tuple[str, ...]:
    """What its cases have in common: the function and, of conformance, what is tried and by which check."""
    name = getattr(item, "originalname", None) or item.name
    check = getattr(getattr(item, "callspec", None), "params", {}).get("check")
    if not isinstance(check, Check):
        return str(item.path), name
    role = item.name.partition("[")[2].partition("/")[0]
    return name, role, check.name
