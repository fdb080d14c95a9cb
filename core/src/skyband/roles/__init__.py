"""The roles of core: the interfaces that their backends implement."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skyband.roles.backend import Backend
    from skyband.roles.matcher import Matcher
    from skyband.roles.object_ranker import ObjectRanker
    from skyband.roles.pair_ranker import PairRanker
    from skyband.roles.sketch import KeyBitmap, Sketch
    from skyband.roles.window import Window
    from skyband.roles.workload_ranker import Answer, Answers, TopKQuery, WorkloadRanker

_HOMES = {
    "backend": ("Backend",),
    "matcher": ("Matcher",),
    "object_ranker": ("ObjectRanker",),
    "pair_ranker": ("PairRanker",),
    "sketch": ("KeyBitmap", "Sketch"),
    "window": ("Window",),
    "workload_ranker": ("Answer", "Answers", "TopKQuery", "WorkloadRanker"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "Answers",
    "Backend",
    "KeyBitmap",
    "Matcher",
    "ObjectRanker",
    "PairRanker",
    "Sketch",
    "TopKQuery",
    "Window",
    "WorkloadRanker",
]


def __getattr__(name: str) -> Any:
    """Import a role on first use: code that reads states needs none of the rankers."""
    if name in _HOME:
        return getattr(import_module(f"skyband.roles.{_HOME[name]}"), name)
    raise AttributeError(f"module 'skyband.roles' has no attribute {name!r}")
