"""The most entries that a small group may have."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any, cast

from skyband.registry import Binding

MOST_ENTRIES = 4096
"""The most entries of a small group: with more, its own processor would be faster than a pass.

A query with a more expensive pass has a lower limit.
"""


def most_entries(binding: Binding, parameters: Mapping[str, Any]) -> int:
    """The most entries of a group that the query answers by the role's definition, without a backend.

    It is the backend's `exact_up_to`; 0 if the backend is not exact and its class does not define that.
    """
    backend = cast(Any, binding.create(**parameters))
    own = takewhile(lambda each: each is not binding.role_class, type(backend).__mro__)
    if binding.info.guarantee != "exact" and not any("exact_up_to" in vars(each) for each in own):
        return 0
    return int(min(backend.exact_up_to, MOST_ENTRIES))
