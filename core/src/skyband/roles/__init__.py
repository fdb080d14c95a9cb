"""The roles a query is made of, and which backend does each unless the user says otherwise."""

from typing import Any

from attrs import frozen

from skyband.roles.backend import Backend
from skyband.roles.matcher import Matcher
from skyband.roles.object_ranker import ObjectRanker
from skyband.roles.pair_ranker import PairRanker
from skyband.roles.sketch import Sketch
from skyband.roles.window import Window
from skyband.roles.workload_ranker import Answer, Answers, TopKQuery, WorkloadRanker


@frozen
class Role:
    """A job inside a query that can be done in several ways."""

    name: str
    interface: type[Any]
    default: str
    distribution: str
    summary: str


ROLES: dict[str, Role] = {
    role.name: role
    for role in (
        Role("sketch", Sketch, "pcsa-ml", "skyband-distinct", "how many distinct objects since any moment"),
        Role("window", Window, "exact", "skyband-uncertain", "which uncertain tuples a window holds"),
        Role("matcher", Matcher, "block", "skyband-uncertain", "which uncertain tuples are near a probe"),
        Role("object-ranker", ObjectRanker, "eaa", "skyband-incomplete", "the best objects, known only in part"),
        Role("pair-ranker", PairRanker, "swoop", "skyband-setjoin", "the most similar pairs of sets"),
        Role("workload-ranker", WorkloadRanker, "paneband", "skyband-workload", "many top-k queries at once"),
    )
}

__all__ = [
    "ROLES",
    "Answer",
    "Answers",
    "Backend",
    "Matcher",
    "ObjectRanker",
    "PairRanker",
    "Role",
    "Sketch",
    "TopKQuery",
    "Window",
    "WorkloadRanker",
]
