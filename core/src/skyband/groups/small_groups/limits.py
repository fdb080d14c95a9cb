"""How many entries a small group may have."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any, cast

from skyband.registry import Binding

MOST_ENTRIES = 4096
"""Entries of a small group: with more, a walk through them takes longer than a processor of its own does.

A query whose walk costs more an entry has fewer.
"""


def most_entries(binding: Binding, parameters: Mapping[str, Any]) -> int:
    """Up to how many entries a group is answered by the query itself, as the role is defined, without a backend.

    As many as the backend's `exact_up_to`; 0 where the backend is not exact and its class does not define that.
    """
    backend = cast(Any, binding.create(**parameters))
    own = takewhile(lambda each: each is not binding.role_class, type(backend).__mro__)
    if binding.info.guarantee != "exact" and not any("exact_up_to" in vars(each) for each in own):
        return 0
    return int(min(backend.exact_up_to, MOST_ENTRIES))
